#include "server/handlers/program_recipe.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/protocol/program_recipe.h"
#include "server/handlers/ready_build.h"
#include "server/program/build_cache.h"
#include "server/program/stored_builds.h"
#include "server/quota/held_memory.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Makes native programs of recipes. `whole`: the client's program, which learns what its kernels print.
class RecipeMaker {
 public:
  RecipeMaker(Session& session, Device& on, Program& whole) : session_(session), on_(on), whole_(whole) {}

  // As BuildReport's functions do. Throws BinaryError.
  cl_program make(BuildReport& report, const ProgramRecipe& recipe, unsigned level = 1) {
    stop_if_over(session_);
    switch (recipe.kind) {
      case RecipeKind::kBuild:
        return build(report, recipe);
      case RecipeKind::kCompile:
        return compile(report, recipe);
      default:
        return link(report, recipe, level);
    }
  }

 private:
  cl_program build(BuildReport& report, const ProgramRecipe& recipe) {
    const Ref<Program> program = program_of(recipe);
    const ClientFiles sent{recipe.options, recipe.include_folders, recipe.headers};
    const ReadyBuild ready(session_, sent, {program}, CL_INVALID_BUILD_OPTIONS, CL_BUILD_PROGRAM_FAILURE);
    whole_.take_prints(*program);
    if (const auto& objection = ready.objection()) return report.refuse(on_, objection->error, objection->words);
    const StoredRequest stored{ready.sent(), session_.stored_owner()};
    return report.build(*program, on_, *ready.files(), session_.shared().built, BuildCache::key(*program, sent),
                        &stored);
  }

  cl_program compile(BuildReport& report, const ProgramRecipe& recipe) {
    std::vector<Ref<Program>> parts{program_of(recipe)};
    std::vector<std::string> names;
    recipe.parts.for_each([&](const RecipePart& part) {
      parts.push_back(make_ref<Program>(ProgramOrigin::kSource, session_.counters()));
      parts.back()->set_code(part.content);
      names.emplace_back(part.name);
    });
    const ReadyBuild ready(session_, {recipe.options, recipe.include_folders, recipe.headers}, parts,
                           CL_INVALID_COMPILER_OPTIONS, CL_COMPILE_PROGRAM_FAILURE);
    for (const Ref<Program>& part : parts) whole_.take_prints(*part);
    if (const auto& objection = ready.objection()) return report.refuse(on_, objection->error, objection->words);
    const StoredRequest stored{ready.sent(), session_.stored_owner()};
    return report.compile(*parts.front(), on_, *ready.files(), ready.included(names), *session_.shared().built.stored(),
                          stored);
  }

  cl_program link(BuildReport& report, const ProgramRecipe& recipe, unsigned level) {
    if (level > kRecipeDepthMax) throw BinaryError("it has too many libraries in libraries");
    if (const auto objection = objection_to_link(recipe.options)) {
      return report.refuse(on_, objection->error, objection->words);
    }
    std::vector<LinkInput> inputs;
    std::optional<BuildReport> failed;
    recipe.parts.for_each([&](const RecipePart& part) {
      if (failed) return;
      BuildReport made;
      LinkInput& input = inputs.emplace_back();
      input.program = Native<cl_program>(make(made, open_recipe(part.content), level + 1));
      if (const auto& of = made.part(0)) input.key = of->key;
      if (!made.succeeded()) failed = std::move(made);
    });
    if (failed) {
      report.append(*std::move(failed));
      return nullptr;
    }
    return link_with(session_, report, on_, recipe.options, inputs);
  }

  Ref<Program> program_of(const ProgramRecipe& recipe) const {
    auto program =
        make_ref<Program>(recipe.is_il != 0 ? ProgramOrigin::kIl : ProgramOrigin::kSource, session_.counters());
    program->set_code(recipe.code);
    recipe.constants.for_each(
        [&](const RecipeConstant& constant) { program->set_constant(constant.constant, constant.value); });
    return program;
  }

  Session& session_;
  Device& on_;
  Program& whole_;
};

cl_program refuse(BuildReport& report, const Device& on, const std::string& why) {
  return report.refuse(on, CL_INVALID_BINARY, "remotecl: the program's binary cannot be used: " + why);
}

// Calls make(recipe). Others may have made the recipe, so its mistakes do not end the session as the client's own do.
template <class Make>
cl_program make_of(BuildReport& report, const Device& on, const Program& program, Make&& make) {
  try {
    return make(open_recipe(program.code(on)));
  } catch (const HeldTooMuch&) {
    throw;
  } catch (const ProtocolError& error) {
    return refuse(report, on, error.what());
  } catch (const BinaryError& error) {
    return refuse(report, on, error.what());
  }
}

}  // namespace

cl_program inspect_recipe(Session& session, BuildReport& report, Device& on, Program& program) {
  return make_of(report, on, program, [&](const ProgramRecipe& recipe) -> cl_program {
    check_parts(recipe);
    if (makes_executable(recipe)) return report.accept_recipe(on, CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
    BuildReport made;
    Native<cl_program> native(RecipeMaker(session, on, program).make(made, recipe));
    if (!made.succeeded()) return refuse(report, on, "it cannot be compiled or linked any more");
    report.append(std::move(made));
    report.note_not_built();
    return native.detach();
  });
}

cl_program build_recipe(Session& session, BuildReport& report, Device& on, Program& program) {
  return make_of(report, on, program, [&](const ProgramRecipe& recipe) -> cl_program {
    if (!makes_executable(recipe)) return refuse(report, on, "an object or a library must be linked, not built");
    return RecipeMaker(session, on, program).make(report, recipe);
  });
}

}  // namespace remotecl::server
