// tests/service/process_test.cpp — the program: its port, its end by SIGTERM, its command line, and the load generator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/service/fixture.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace service_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using tlxjit::runtime_test::TemporaryDirectory;

/// A program whose output comes through a pipe.
class Program {
 public:
  explicit Program(std::vector<std::string> words) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&id_, arguments[0], &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
  }
  Program(const Program&) = delete;
  ~Program() {
    if (id_ > 0) kill(SIGKILL), await_end();
    if (output_) std::fclose(output_);
  }
  std::string line() const {
    char text[4096] = "";
    return std::fgets(text, sizeof text, output_) ? text : "";
  }
  void kill(int signal) const { ::kill(id_, signal); }
  /// The exit status; −1: it did not end by itself.
  int await_end() {
    for (std::string text; !(text = line()).empty();) rest_ += text;
    int status = 0;
    waitpid(std::exchange(id_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& rest() const { return rest_; }

 private:
  pid_t id_ = -1;
  FILE* output_ = nullptr;
  std::string rest_;
};

class Started : public Program {
 public:
  explicit Started(std::vector<std::string> more) : Program(words(std::move(more))) {
    const std::string before = "listening on http://127.0.0.1:";
    std::string text = line();
    while (text.starts_with("bound to ") || text.starts_with("prepared ") || text.starts_with("attention_service: "))
      text = line();
    EXPECT_THAT(text, testing::StartsWith(before));
    if (text.size() > before.size()) port_ = std::stoi(text.substr(before.size()));
  }
  int port() const { return port_; }
  httplib::Client client() const { return patient_client(port_); }

 private:
  static std::vector<std::string> words(std::vector<std::string> more) {
    std::vector<std::string> all = {TLXJIT_SERVICE_PROGRAM, "--device", "cpu", "--port", "0", "--tier", "wait"};
    for (const char* limit : {"--deadline-ms", "--idle-ms", "--header-ms", "--body-ms", "--write-ms"})
      all.insert(all.end(), {limit, "3600000"});  // an hour, which no slow machine needs
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  int port_ = 0;
};

TEST(ServiceProgram, APortThatNobodyLearnsIsAnError) {
  const std::string line = std::string("timeout 60 ") + TLXJIT_SERVICE_PROGRAM + " --device cpu --tier wait --port 0";
  EXPECT_EQ(WEXITSTATUS(std::system((line + " > /dev/full 2> /dev/null").c_str())), 1);
}

TEST(ServiceProgram, DrainsOnSigtermAndEndsWithStatus0) {
  Started program({"--linger-ms", "3600000"});
  ASSERT_NE(program.port(), 0);
  EXPECT_EQ(program.client().Get("/healthz")->body, "ok\n");
  auto lingering = std::async(std::launch::async, [&] {
    httplib::Client client = program.client();
    return post(client, wire::write_call(call_of(small(), {3, 4})));
  });
  until([&] { return metric(program.client().Get("/metrics")->body, "attention_service_queue_depth") == 1; });
  program.kill(SIGTERM);
  const auto result = lingering.get();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  wire::AnswerHeader header;
  EXPECT_EQ(result->body.size(), sizeof header + call_of(small(), {3, 4}).query_bytes());
  EXPECT_EQ(program.await_end(), 0);
  EXPECT_THAT(program.rest(), HasSubstr("draining"));
}

TEST(ServiceProgram, EndsBySigintWithNothingToDo) {
  Started program({});
  program.kill(SIGINT);
  EXPECT_EQ(program.await_end(), 0);
}

TEST(ServiceProgram, TheExampleOfTheGuideIsAnswered) {
  const Started program({"--head-sizes", "16"});
  nlohmann::json call = {{"heads", 1}, {"head_size", 16}, {"lengths", {2}}};
  const nlohmann::json zeros = std::vector<float>(16), ones = std::vector<float>(16, 1),
                       twos = std::vector<float>(16, 2);
  call["q"] = call["k"] = {{zeros}, {zeros}};
  call["v"] = {{ones}, {twos}};
  httplib::Client client = program.client();
  const auto result = post(client, call.dump(), "application/json");
  ASSERT_TRUE(result);
  EXPECT_EQ(nlohmann::json::parse(result->body)["out"][1][0][0], 1.5) << "the mean of what all keys say alike";
}

struct Refusal {
  std::vector<std::string> words;
  const char* text;
};

/// The program tells its usage, and refuses each of these.
void check_command_line(const char* program, const std::string& name, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    std::vector<std::string> words = {program};
    words.insert(words.end(), refusal.words.begin(), refusal.words.end());
    Program refused(words);
    EXPECT_EQ(refused.await_end(), 2) << refusal.text;
    EXPECT_THAT(refused.rest(), HasSubstr(refusal.text));
  }
  Program help({program, "--help"});
  EXPECT_EQ(help.await_end(), 0);
  EXPECT_THAT(help.rest(), HasSubstr("usage: " + name));
}

TEST(ServiceProgram, RefusesACommandLineThatMakesNoSense) {
  check_command_line(TLXJIT_SERVICE_PROGRAM, "attention_service",
                     {
                         {{"--port", "x"}, "--port takes a number from 0 to 65535, not 'x'"},
                         {{"--port", "65536"}, "--port takes a number"},
                         {{"--tier", "hot"}, "--tier is wait, background, sealed or warn, not 'hot'"},
                         {{"--dtypes", "f32,f64"}, "--dtypes takes f32, bf16 and f16, not 'f64'"},
                         {{"--head-sizes", "64,"}, "--head-sizes takes a number"},
                         {{"--head-sizes", "20"}, "--head-sizes takes multiples of 8"},
                         {{"--connections", "1000"}, "--connections takes a number from 1 to 900"},
                         {{"--queue"}, "--queue wants a value"},
                         {{"--frobnicate"}, "there is no option --frobnicate"},
                     });
  Program nowhere({TLXJIT_SERVICE_PROGRAM, "--device", "tpu"});
  EXPECT_EQ(nowhere.await_end(), 1);
  EXPECT_THAT(nowhere.rest(), HasSubstr("there is no device 'tpu'"));
}

#ifdef TLXJIT_COMMAND
/// One call of the shape, and what it came to.
int call_status(const Started& program, int heads) {
  Shape shape = small();
  shape.heads = shape.key_heads = heads;
  httplib::Client client = program.client();
  const auto result = post(client, wire::write_call(call_of(shape, {3})));
  return result ? result->status : 0;
}

TEST(ServiceProgram, KernelsAreShippedAsTheGuideSays) {
  const TemporaryDirectory place;
  const std::string& folder = place.path();
  const std::string manifest = place / "manifest.json", bundle = place / "service.tlxb";
  const auto words = [](std::vector<std::string> more) {
    std::vector<std::string> all = {"--dtypes", "f32", "--head-sizes", std::to_string(small().head_size),
                                    "--groups", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto ended = [](Program& program) {
    program.kill(SIGTERM);
    EXPECT_EQ(program.await_end(), 0) << program.rest();
  };
  setenv("TLXJIT_DISK_CACHE", "0", 1);
  {
    Started program(words({"--write-kernels", folder, "--write-manifest", manifest}));
    EXPECT_EQ(call_status(program, 2), 200);
    ended(program);
  }
  unsetenv("TLXJIT_DISK_CACHE");
  setenv("TLXJIT_CACHE_DIR", (folder + "/empty").c_str(), 1);
  Program warm({TLXJIT_COMMAND, "warm", "--cache-dir", folder + "/cache", "--kernel",
                folder + "/attention_f32_64_1.tlx", "--kernel", folder + "/attention_f32_64_1_causal.tlx", manifest});
  EXPECT_EQ(warm.await_end(), 0) << warm.rest();
  EXPECT_THAT(warm.rest(), HasSubstr("1 key, 2 generic versions: 3 compiled, 0 found on disk, 0 failed"));
  Program exported({TLXJIT_COMMAND, "cache", "export", "--dir", folder + "/cache", bundle});
  EXPECT_EQ(exported.await_end(), 0) << exported.rest();
  const auto counted = [](const Started& program, const std::string& name) {
    return metric(program.client().Get("/metrics")->body, "attention_service_" + name);
  };
  {
    Started program(words({"--tier", "sealed", "--bundle", bundle, "--manifest", manifest}));
    EXPECT_EQ(call_status(program, 2), 200);
    EXPECT_EQ(call_status(program, 3), 500) << "a key that is not in the manifest";
    EXPECT_EQ(counted(program, "engine_compiles_total"), 0);
    EXPECT_EQ(counted(program, "engine_bundle_hits_total"), 1);
    EXPECT_EQ(counted(program, "jit_refused_total"), 1);
    ended(program);
    EXPECT_THAT(program.rest(), HasSubstr("\"promises\"")) << "its key is told";
  }
  for (const char* tier : {"background", "warn"}) {
    Started program(words({"--tier", tier, "--bundle", bundle}));
    EXPECT_EQ(counted(program, "engine_compiles_total"), 0) << "the generic versions come from the bundle";
    EXPECT_EQ(counted(program, "engine_bundle_hits_total"), 2);
    EXPECT_EQ(call_status(program, 3), 200);
    ended(program);
    if (tier == std::string("warn")) {
      EXPECT_THAT(program.rest(), HasSubstr("attention_service: ")) << "the log";
    }
  }
  unsetenv("TLXJIT_CACHE_DIR");
  setenv("TLXJIT_DISK_CACHE", "0", 1);
}
#endif

TEST(ServiceProgram, AManifestThatIsNoneOrOfOthersIsAnError) {
  const TemporaryDirectory place;
  const std::string file = place / "manifest.json";
  for (const auto& [text, reason] :
       {std::pair("x", "is none of format 1"),
        {R"({"tlxjit_manifest": "1", "keys": []})", "is none of format 1"},
        {R"({"tlxjit_manifest": 1, "keys": 3})", "is none of format 1"},
        {R"({"tlxjit_manifest": 1, "keys": [{"function": 3}]})", "has a key of ``, which is not served"},
        {R"({"tlxjit_manifest": 1, "keys": [{"function": "gemm"}]})", "has a key of `gemm`, which is not served"}}) {
    std::ofstream(file) << text;
    Program program({TLXJIT_SERVICE_PROGRAM, "--device", "cpu", "--port", "0", "--tier", "sealed", "--manifest", file});
    EXPECT_EQ(program.await_end(), 1);
    EXPECT_THAT(program.rest(), HasSubstr(reason));
  }
}

TEST(ServiceProgram, AnAddressThatIsTakenIsAnError) {
  const Started first({});
  Program second({TLXJIT_SERVICE_PROGRAM, "--device", "cpu", "--port", std::to_string(first.port())});
  EXPECT_EQ(second.await_end(), 1);
  EXPECT_THAT(second.rest(), HasSubstr("Address already in use"));
  EXPECT_THAT(second.rest(), Not(HasSubstr("prepared"))) << "at once";
}

TEST(ServiceProgram, ThePortOfOneThatEndedIsFreeAtOnce) {
  Started first({});
  {
    // The service closes it first: so it is its port that the system knows for a while, and gives nobody else.
    const Socket socket(first.port());
    ASSERT_TRUE(socket.send("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    EXPECT_THAT(socket.read_all(), testing::EndsWith("ok\n"));
  }
  first.kill(SIGTERM);
  EXPECT_EQ(first.await_end(), 0);
  const Started second({"--port", std::to_string(first.port())});
  EXPECT_EQ(second.port(), first.port());
}

TEST(ServiceProgram, WhileItPreparesItHasThePortAndAnswersNobodyAndSigtermEndsIt) {
  setenv("TLXJIT_DISK_CACHE", "0", 1);  // else there might be nothing to do
  std::string groups = "1";             // many, so that all of this test is while they are prepared
  for (int group = 2; group <= 48; ++group) groups += "," + std::to_string(group);
  const auto words = [&](const std::string& port) {
    return std::vector<std::string>{TLXJIT_SERVICE_PROGRAM, "--device", "cpu", "--port", port, "--groups", groups};
  };
  Program program(words("0"));
  const std::string bound = program.line(), before = "bound to http://127.0.0.1:";
  ASSERT_THAT(bound, testing::StartsWith(before));
  const int port = std::stoi(bound.substr(before.size()));
  EXPECT_EQ(program.line(), "prepared 8 of 576 kernels\n");
  const auto answer = httplib::Client("127.0.0.1", port).Get("/healthz");
  EXPECT_EQ(answer.error(), httplib::Error::Connection);
  Program second(words(std::to_string(port)));
  EXPECT_EQ(second.await_end(), 1);
  EXPECT_THAT(second.rest(), HasSubstr("Address already in use"));
  program.kill(SIGTERM);
  EXPECT_EQ(program.await_end(), 0);
  const std::string& rest = program.rest();
  const size_t ended = rest.find("ended before the kernels were there\n");
  ASSERT_NE(ended, std::string::npos) << rest;
  const size_t last = rest.find("prepared ", ended);  // the one that was just done, at most
  EXPECT_TRUE(last == std::string::npos || rest.find("prepared ", last + 1) == std::string::npos) << rest;
  EXPECT_THAT(rest, Not(HasSubstr("prepared 576 of")));
  EXPECT_THAT(rest, Not(HasSubstr("listening")));
}

TEST(LoadProgram, SendsATraceChecksAnswersAndWritesJson) {
  const Started service({"--tier", "background", "--head-sizes", "64", "--groups", "1", "--dtypes", "bf16"});
  const TemporaryDirectory place;
  const std::string trace = place / "trace.csv", report = place / "load.json";
  std::ofstream(trace) << "id,tokens\n1,30\n2,1\n3,90\n";
  Program load({TLXJIT_LOAD_PROGRAM, "--port", std::to_string(service.port()), "--trace", trace, "--column", "tokens",
                "--rate", "40", "--seconds", "1", "--shapes", "2", "--json", report});
  EXPECT_EQ(load.await_end(), 0);
  EXPECT_THAT(load.rest(), HasSubstr("rounding may cost: right"));
  const auto figures = nlohmann::json::parse(std::ifstream(report));
  EXPECT_GT(figures["answers"]["200"], 10);
  EXPECT_EQ(figures["kinds"].size(), 2U);
  EXPECT_EQ(figures["windows"].size(), 20U);
  EXPECT_GE(figures["all"]["max_ms"], figures["all"]["p50_ms"]);
}

TEST(LoadProgram, TellsWhyCallsAreRefused) {
  const Started service({"--head-sizes", "32", "--groups", "1", "--dtypes", "f32"});
  Program load({TLXJIT_LOAD_PROGRAM, "--port", std::to_string(service.port()), "--rate", "40", "--seconds", "0.5"});
  EXPECT_EQ(load.await_end(), 1);
  EXPECT_THAT(load.rest(), HasSubstr(" × 422;"));
  EXPECT_THAT(load.rest(), testing::ContainsRegex("\n +[0-9]+: .*bf16"));
  EXPECT_THAT(load.rest(), HasSubstr("nothing to check"));
}

// All calls come at once, and are answered one by one, on whatever machine.
TEST(LoadProgram, SaysThatMoreIsAskedThanCanBeAnswered) {
  const Started service({"--head-sizes", "64", "--groups", "1", "--dtypes", "bf16", "--threads", "1", "--batch", "1"});
  const TemporaryDirectory place;
  const std::string report = place / "load.json";
  Program program({TLXJIT_LOAD_PROGRAM, "--port", std::to_string(service.port()), "--rate", "4000", "--seconds", "0.01",
                   "--lognormal", "9,0", "--longest", "1024", "--check", "1", "--json", report});
  EXPECT_EQ(program.await_end(), 0) << program.rest();
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(report))["overload"], true);
  EXPECT_THAT(program.rest(), HasSubstr("more is asked than the service can answer"));
}

TEST(CompareProgram, WithoutABuildItSaysSo) {
  Program compare({"/usr/bin/env", "python3", TLXJIT_COMPARE, "--build", "/nowhere"});
  EXPECT_EQ(compare.await_end(), 1);
  EXPECT_THAT(compare.rest(), testing::StartsWith("compare: there is no /nowhere/samples/attention_service: name"));
}

TEST(LoadProgram, RefusesACommandLineThatMakesNoSense) {
  check_command_line(TLXJIT_LOAD_PROGRAM, "attention_load",
                     {
                         {{"--rate", "-1"}, "attention_load: --rate takes a number from 0.01 to 100000, not '-1'"},
                         {{"--heads", "1.5"}, "--heads takes a whole number"},
                         {{"--heads", "x"}, "--heads takes a number"},
                         {{"--dtype", "f64"}, "--dtype is bf16, f16 or f32"},
                         {{"--lognormal", "6.6"}, "--lognormal takes two numbers"},
                         {{"--lognormal", "6.6,y"}, "--lognormal takes a number"},
                         {{"--rate", "1", "--seed"}, "--seed wants a value"},
                         {{"--frobnicate", "1"}, "there is no option --frobnicate"},
                     });
}

TEST(LoadProgram, WithoutAServiceNothingIsRight) {
  const HeldPort held;
  const std::string port = std::to_string(held.number());
  Program load({TLXJIT_LOAD_PROGRAM, "--port", port, "--rate", "20", "--seconds", "0.5"});
  EXPECT_EQ(load.await_end(), 1);
  EXPECT_THAT(load.rest(), HasSubstr("no attention_service answers at 127.0.0.1:" + port + ": "));
  EXPECT_THAT(load.rest(), Not(HasSubstr("sending")));
  Program bad({TLXJIT_LOAD_PROGRAM, "--trace", "nowhere.csv"});
  EXPECT_EQ(bad.await_end(), 1);
  EXPECT_THAT(bad.rest(), HasSubstr("cannot read nowhere.csv"));
}

}  // namespace
}  // namespace service_test
