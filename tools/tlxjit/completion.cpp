// tools/tlxjit/completion.cpp — completion scripts for bash and zsh, made of the app.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include "tools/tlxjit/app.h"

namespace tlxjit::cli {

namespace {

struct Word {
  std::string text, description;
};

/// An option's names as they are typed.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

/// The words that an option takes: `TEXT:{bash,zsh}` is how CLI11 tells of them.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

bool takes_file(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.find("FILE") != std::string::npos || type.find("DIR") != std::string::npos;
}

/// A command: what may stand after it, by the last word before.
struct Place {
  std::string path;  ///< ` cache ls`; empty: the program itself
  std::vector<Word> words;
  bool files = false;
  struct Value {
    std::vector<std::string> options;
    std::vector<std::string> choices;
    bool files;
  };
  std::vector<Value> values;
};

void collect(const CLI::App& app, const std::string& path, std::vector<Place>& to) {
  Place place{path, {}, false, {}};
  for (const CLI::App* sub : app.get_subcommands({})) place.words.push_back({sub->get_name(), sub->get_description()});
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      for (const std::string& choice : choices_of(*option)) place.words.push_back({choice, ""});
      place.files |= takes_file(*option);
      continue;
    }
    const auto names = names_of(*option);
    for (const std::string& name : names) place.words.push_back({name, option->get_description()});
    if (option->get_items_expected_max() > 0) place.values.push_back({names, choices_of(*option), takes_file(*option)});
  }
  to.push_back(std::move(place));
  for (const CLI::App* sub : app.get_subcommands({})) collect(*sub, path + " " + sub->get_name(), to);
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::string paths_of(const std::vector<Place>& places) {
  std::vector<std::string> quoted;
  for (const Place& place : places)
    if (!place.path.empty()) quoted.push_back("'" + place.path + "'");
  return fmt::format("{}", fmt::join(quoted, "|"));
}

/// The patterns of `path option` for which a value follows.
std::string patterns(const Place& place, const Place::Value& value) {
  std::vector<std::string> quoted;
  for (const std::string& option : value.options) quoted.push_back("'" + place.path + " " + option + "'");
  return fmt::format("{}", fmt::join(quoted, "|"));
}

std::string bash(const std::vector<Place>& places) {
  std::string out =
      "# Completion of tlxjit in bash: source <(tlxjit completion bash)\n"
      "_tlxjit() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" path='' words='' files=0 i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"$path ${COMP_WORDS[i]}\" in\n";
  out += fmt::format("      {}) path+=\" ${{COMP_WORDS[i]}}\" ;;\n", paths_of(places));
  out += "    esac\n  done\n  case \"$path $before\" in\n";
  for (const Place& place : places)
    for (const auto& value : place.values)
      out += fmt::format("    {}) words='{}' files={} ;;\n", patterns(place, value), joined(value.choices),
                         value.files ? 1 : 0);
  out += "    *) case \"$path\" in\n";
  for (const Place& place : places) {
    std::vector<std::string> words;
    for (const Word& word : place.words) words.push_back(word.text);
    out += fmt::format("      '{}') words='{}' files={} ;;\n", place.path, joined(words), place.files ? 1 : 0);
  }
  return out +
         "    esac ;;\n  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  if [ \"$files\" = 1 ]; then mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$word\"); fi\n"
         "}\n"
         "complete -o filenames -F _tlxjit tlxjit\n";
}

/// A word and what it means, as _describe wants them within single quotes.
std::string described(const Word& word) {
  std::string out = "'";
  for (const char c : word.text) out += c == ':' ? "\\:" : std::string(1, c);
  if (!word.description.empty()) out += ':';
  for (const char c : word.description) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string zsh(const std::vector<Place>& places) {
  std::string out =
      "#compdef tlxjit\n"
      "# Completion of tlxjit in zsh: source <(tlxjit completion zsh), after compinit\n"
      "_tlxjit() {\n"
      "  local at='' i\n"
      "  local -a found options\n"
      "  for ((i = 2; i < CURRENT; ++i)); do\n"
      "    case \"$at ${words[i]}\" in\n";
  out += fmt::format("      ({}) at+=\" ${{words[i]}}\" ;;\n", paths_of(places));
  out += "    esac\n  done\n  case \"$at ${words[CURRENT-1]}\" in\n";
  for (const Place& place : places)
    for (const auto& value : place.values)
      out += fmt::format("    ({}) {} ;;\n", patterns(place, value),
                         value.files             ? "_files"
                         : value.choices.empty() ? "_message value"
                                                 : "compadd -- " + joined(value.choices));
  out += "    (*) case \"$at\" in\n";
  for (const Place& place : places) {
    std::vector<std::string> words, options;
    for (const Word& word : place.words) (word.text[0] == '-' ? options : words).push_back(described(word));
    out += fmt::format("      ('{}') found=({}) options=({})\n", place.path, joined(words), joined(options));
    out += fmt::format("        _describe command found; _describe -o option options{} ;;\n",
                       place.files ? "; _files" : "");
  }
  return out +
         "    esac ;;\n  esac\n"
         "}\n"
         "compdef _tlxjit tlxjit\n";
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& shell) {
  std::vector<Place> places;
  collect(app, "", places);
  return shell == "zsh" ? zsh(places) : bash(places);
}

}  // namespace tlxjit::cli
