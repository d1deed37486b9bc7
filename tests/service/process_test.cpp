// tests/service/process_test.cpp — the program: its port, its end by SIGTERM, its command line, and the load generator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/service/fixture.h"

namespace service_test {
namespace {

using testing::HasSubstr;

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
    while (text.starts_with("prepared ")) text = line();
    EXPECT_THAT(text, testing::StartsWith(before));
    if (text.size() > before.size()) port_ = std::stoi(text.substr(before.size()));
  }
  int port() const { return port_; }
  httplib::Client client() const {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(100);
    return client;
  }

 private:
  static std::vector<std::string> words(std::vector<std::string> more) {
    std::vector<std::string> all = {TLXJIT_SERVICE_PROGRAM, "--device", "cpu", "--port", "0", "--tier", "wait"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  int port_ = 0;
};

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

TEST(ServiceProgram, RefusesACommandLineThatMakesNoSense) {
  const struct {
    std::vector<std::string> words;
    const char* text;
  } cases[] = {
      {{"--port", "x"}, "--port takes a number from 0 to 65535, not 'x'"},
      {{"--port", "65536"}, "--port takes a number"},
      {{"--tier", "sealed"}, "--tier is wait or background"},
      {{"--dtypes", "f32,f64"}, "--dtypes takes f32, bf16 and f16, not 'f64'"},
      {{"--head-sizes", "64,"}, "--head-sizes takes a number"},
      {{"--head-sizes", "20"}, "--head-sizes takes multiples of 8"},
      {{"--connections", "1000"}, "--connections takes a number from 1 to 900"},
      {{"--queue"}, "--queue wants a value"},
      {{"--frobnicate"}, "there is no option --frobnicate"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> words = {TLXJIT_SERVICE_PROGRAM};
    words.insert(words.end(), c.words.begin(), c.words.end());
    Program program(words);
    EXPECT_EQ(program.await_end(), 2) << c.text;
    EXPECT_THAT(program.rest(), HasSubstr(c.text));
  }
  Program help({TLXJIT_SERVICE_PROGRAM, "--help"});
  EXPECT_EQ(help.await_end(), 0);
  EXPECT_THAT(help.rest(), HasSubstr("usage: attention_service"));
  Program nowhere({TLXJIT_SERVICE_PROGRAM, "--device", "tpu"});
  EXPECT_EQ(nowhere.await_end(), 1);
  EXPECT_THAT(nowhere.rest(), HasSubstr("there is no device 'tpu'"));
}

TEST(ServiceProgram, AnAddressThatIsTakenIsAnError) {
  const Started first({});
  Program second({TLXJIT_SERVICE_PROGRAM, "--device", "cpu", "--port", std::to_string(first.port())});
  EXPECT_EQ(second.await_end(), 1);
  EXPECT_THAT(second.rest(), HasSubstr("Address already in use"));
}

TEST(LoadProgram, SendsATraceChecksAnswersAndWritesJson) {
  const Started service({"--tier", "background", "--head-sizes", "64", "--groups", "1", "--dtypes", "bf16"});
  const std::string trace = testing::TempDir() + "service_trace.csv", report = testing::TempDir() + "service_load.json";
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

TEST(LoadProgram, WithoutAServiceNothingIsRight) {
  int port = 0;
  {
    Started gone({});
    port = gone.port();
    gone.kill(SIGTERM);
    EXPECT_EQ(gone.await_end(), 0);
  }
  Program load({TLXJIT_LOAD_PROGRAM, "--port", std::to_string(port), "--rate", "20", "--seconds", "0.5"});
  EXPECT_EQ(load.await_end(), 1);
  EXPECT_THAT(load.rest(), HasSubstr("nothing to check"));
  Program bad({TLXJIT_LOAD_PROGRAM, "--trace", "nowhere.csv"});
  EXPECT_EQ(bad.await_end(), 1);
  EXPECT_THAT(bad.rest(), HasSubstr("cannot read nowhere.csv"));
  Program worse({TLXJIT_LOAD_PROGRAM, "--rate", "-1"});
  EXPECT_EQ(worse.await_end(), 2);
  EXPECT_THAT(worse.rest(), HasSubstr("--rate takes a number"));
}

}  // namespace
}  // namespace service_test
