// tools/tlxjit/call.cpp — binds what the command line says to a kernel's parameters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/tlxjit/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/runtime/guard_p.h"
#include "src/runtime/host_program_p.h"
#include "tools/tlxjit/element.h"
#include "tools/tlxjit/files.h"

namespace tlxjit::cli {

Error bad_argument(std::string message) {
  return runtime::error_of(ErrorKind::user, Stage::launch, ErrorCode::bad_argument, std::move(message));
}

bool TensorInput::from_file() const {
  return source != "zeros" && source != "ones" && source != "random" && source != "arange" && !source.empty() &&
         !parse_number(source);
}

namespace {

class Binder {
 public:
  Binder(const RunCommand& command, const Lowered& kernel, int sms)
      : command_(command), kernel_(kernel), abi_(kernel.abi), sms_(sms), dims_(abi_.dims.size()) {}

  Result<Call> run() {
    TLXJIT_TRY(declare());
    TLXJIT_TRY(give_arguments());
    TLXJIT_TRY(give_dims());
    TLXJIT_TRY(read_arrays());
    TLXJIT_TRY(all_known());
    TLXJIT_TRY(compute_extents());
    return std::move(call_);
  }

 private:
  struct Dim {
    std::optional<int64_t> value;
    std::string from;  // what said so
  };

  std::string signature() const { return kernel_.plan.signature(); }

  Result<void> declare() {
    const auto uses = tensor_uses(kernel_.module, abi_);
    for (size_t i = 0; i < abi_.tensors.size(); ++i) {
      TensorInput tensor;
      tensor.name = abi_.tensors[i].name;
      tensor.elem = abi_.tensors[i].elem;
      tensor.use = uses[i];
      call_.tensors.push_back(std::move(tensor));
    }
    for (const AbiScalar& scalar : abi_.scalars) call_.scalars.push_back({scalar.name, scalar.elem, 0});
    return {};
  }

  Result<void> give_arguments() {
    std::vector<bool> given(call_.scalars.size());
    for (const Named& argument : command_.arguments) {
      const auto named = [&](const auto& parameter) { return parameter.name == argument.name; };
      const auto tensor = std::ranges::find_if(call_.tensors, named);
      const auto scalar = std::ranges::find_if(call_.scalars, named);
      if (tensor != call_.tensors.end()) {
        if (!tensor->source.empty()) return bad_argument("--arg " + argument.name + " is given twice");
        tensor->source = argument.text;
      } else if (scalar != call_.scalars.end()) {
        const auto place = static_cast<size_t>(scalar - call_.scalars.begin());
        if (given[place]) return bad_argument("--arg " + argument.name + " is given twice");
        given[place] = true;
        const auto number = parse_number(argument.text);
        if (!number || !put(scalar->elem, *number, &scalar->bits))
          return bad_argument(fmt::format("--arg {}: '{}' is no {}, which the kernel wants there: {}", argument.name,
                                          argument.text, to_string(scalar->elem), signature()));
      } else {
        return bad_argument(fmt::format("--arg {}: the kernel has no such parameter: {}", argument.name, signature()));
      }
    }
    for (size_t i = 0; i < given.size(); ++i)
      if (!given[i])
        return bad_argument(
            fmt::format("scalar `{0}` is missing: give --arg {0}=NUMBER; {1}", call_.scalars[i].name, signature()));
    for (TensorInput& tensor : call_.tensors) {
      if (!tensor.source.empty()) continue;
      if (tensor.use.read)
        return bad_argument(fmt::format("tensor `{0}` is missing: give --arg {0}=random, a number or a file; {1}",
                                        tensor.name, signature()));
      tensor.source = "zeros";
    }
    return {};
  }

  Result<void> bind(const std::string& name, int64_t value, const std::string& from) {
    const auto found = std::ranges::find_if(abi_.dims, [&](const AbiScalar& dim) { return dim.name == name; });
    if (found == abi_.dims.end())
      return bad_argument(fmt::format("{}: the kernel has no dim `{}`: {}", from, name, signature()));
    Dim& dim = dims_[static_cast<size_t>(found - abi_.dims.begin())];
    if (dim.value && *dim.value != value)
      return bad_argument(fmt::format("dim `{}` is {} by {}, and {} by {}", name, *dim.value, dim.from, value, from));
    dim = {value, from};
    return {};
  }

  Result<void> give_dims() {
    for (const auto& [name, value] : command_.dims) TLXJIT_TRY(bind(name, value, "--dim " + name));
    return {};
  }

  /// Files that say their own shape.
  Result<void> read_arrays() {
    constexpr uint64_t most = uint64_t{1} << 40;  // memory ends before it
    for (size_t i = 0; i < call_.tensors.size(); ++i) {
      TensorInput& tensor = call_.tensors[i];
      if (!tensor.from_file() || !tensor.source.ends_with(".npy")) continue;
      TLXJIT_TRY(read(tensor, most));
      auto npy = parse_npy(tensor.file, tensor.source);
      if (!npy) return npy.error();
      tensor.npy = std::move(*npy);
      TLXJIT_TRY(bind_shape(tensor, abi_.tensors[i]));
    }
    return {};
  }

  static Result<void> read(TensorInput& tensor, uint64_t most) {
    auto bytes = read_file(tensor.source, most);
    if (bytes) {
      tensor.file = std::move(*bytes);
      return {};
    }
    Error error = std::move(bytes).error();
    error.log = fmt::format("--arg {}={}: what is neither zeros, ones, random, arange nor a number is a file",
                            tensor.name, tensor.source);
    return error;
  }

  Result<void> bind_shape(const TensorInput& tensor, const AbiTensor& wanted) {
    const auto& dims = tensor.npy->dims;
    if (dims.size() != wanted.extents.size())
      return bad_argument(fmt::format("{} has {}, and `{}` has {}: {}", tensor.source, count_of(dims.size()),
                                      tensor.name, count_of(wanted.extents.size()), signature()));
    for (size_t axis = 0; axis < dims.size(); ++axis)
      for (const AbiScalar& dim : abi_.dims)
        if (dim.value == wanted.extents[axis])
          TLXJIT_TRY(bind(dim.name, dims[axis], fmt::format("axis {} of {}", axis, tensor.source)));
    return {};
  }

  static std::string count_of(size_t axes) { return fmt::format("{} dimension{}", axes, axes == 1 ? "" : "s"); }

  Result<void> all_known() {
    std::string missing, ways;
    for (size_t i = 0; i < dims_.size(); ++i) {
      const std::string& name = abi_.dims[i].name;
      if (!dims_[i].value) {
        missing += (missing.empty() ? "`" : ", `") + name + "`";
        ways += " --dim " + name + "=SIZE";
      } else if (*dims_[i].value > INT32_MAX) {
        return bad_argument(fmt::format("dim `{}` is {} by {}, and at most 2147483647 is possible", name,
                                        *dims_[i].value, dims_[i].from));
      } else {
        call_.dims.emplace_back(name, static_cast<int32_t>(*dims_[i].value));
      }
    }
    if (missing.empty()) return {};
    return bad_argument(fmt::format("the size of {} is not known: give{}, or a .npy file for a tensor that has it; {}",
                                    missing, ways, signature()));
  }

  Result<void> compute_extents() {
    runtime::HostProgram program;
    std::vector<std::vector<uint16_t>> places(abi_.tensors.size());
    for (size_t i = 0; i < abi_.tensors.size(); ++i)
      for (const Value extent : abi_.tensors[i].extents) {
        auto place = program.add(kernel_.module, abi_, extent);
        if (!place) return place.error();
        places[i].push_back(*place);
      }
    std::vector<int32_t> dims;
    for (const auto& [name, value] : call_.dims) dims.push_back(value);
    std::vector<uint64_t> scalars;
    for (const ScalarInput& scalar : call_.scalars) scalars.push_back(scalar.bits);
    std::vector<runtime::HostProgram::Number> values(program.size());
    program.run(dims, scalars, sms_, values);
    for (size_t i = 0; i < places.size(); ++i) TLXJIT_TRY(size_of(call_.tensors[i], places[i], values));
    return {};
  }

  Result<void> size_of(TensorInput& tensor, const std::vector<uint16_t>& places,
                       const std::vector<runtime::HostProgram::Number>& values) {
    unsigned __int128 bytes = static_cast<unsigned>(tlxjit::bytes(tensor.elem));
    bool empty = false;
    for (const uint16_t place : places) {
      const auto& number = values[place];
      if (!number.ok() || number.value < 0 || number.value > INT32_MAX)
        return bad_argument(fmt::format("an extent of `{}` is no number from 0 to 2147483647 with these sizes: {}",
                                        tensor.name, signature()));
      tensor.dims.push_back(number.value);
      empty |= number.value == 0;
      if (bytes < uint64_t{1} << 48) bytes *= static_cast<uint64_t>(number.value);
    }
    if (!empty && bytes >= uint64_t{1} << 48)
      return bad_argument(fmt::format("`{}` has {} elements of {}, more than there is memory for", tensor.name,
                                      fmt::join(tensor.dims, " x "), to_string(tensor.elem)));
    tensor.bytes = empty ? 0 : static_cast<uint64_t>(bytes);
    const auto misfit = [&](const std::string& held) {
      return bad_argument(fmt::format("`{}` is {} of {}, {} bytes, and {} holds {}", tensor.name,
                                      fmt::join(tensor.dims, " x "), to_string(tensor.elem), tensor.bytes,
                                      tensor.source, held));
    };
    if (tensor.npy && tensor.npy->dims != tensor.dims)
      return misfit(fmt::format("{}", fmt::join(tensor.npy->dims, " x ")));
    if (tensor.npy || !tensor.from_file()) return {};
    if (auto done = read(tensor, tensor.bytes); !done)
      return done.error().code == ErrorCode::bad_argument ? misfit("more") : std::move(done).error();
    if (tensor.file.size() != tensor.bytes) return misfit(fmt::format("{}", tensor.file.size()));
    return {};
  }

  const RunCommand& command_;
  const Lowered& kernel_;
  const Abi& abi_;
  const int sms_;
  std::vector<Dim> dims_;
  Call call_;
};

}  // namespace

Result<Call> make_call(const RunCommand& command, const Lowered& kernel, int sms) {
  return Binder(command, kernel, sms).run();
}

}  // namespace tlxjit::cli
