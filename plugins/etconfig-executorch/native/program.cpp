#include "program.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "abort_guard.h"
#include "log_capture.h"

namespace etconfig {

namespace ext = executorch::extension;

Program::ExternalFile::ExternalFile(nb::object data)
    : loader(std::move(data)),
      map(take("FlatTensorDataMap::load", ext::FlatTensorDataMap::load(&loader))) {}

Program::Program(nb::object data, const std::vector<nb::object>& external) : loader_(std::move(data)) {
  LogCapture capture;
  program_.emplace(take(
      "Program::load",
      guarded([&] { return rt::Program::load(&loader_, rt::Program::Verification::InternalConsistency); },
              [] { return rt::Result<rt::Program>(rt::Error::Internal); })));
  std::vector<const rt::NamedDataMap*> maps;
  for (const auto& each : external) {
    files_.push_back(std::make_unique<ExternalFile>(each));
    maps.push_back(&files_.back()->map);
  }
  if (maps.size() == 1) {
    external_data_ = maps.front();
  } else if (!maps.empty()) {
    merged_.emplace(take("MergedDataMap::load", ext::ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap::load({maps.data(), maps.size()})));
    external_data_ = &*merged_;
  }
}

void bind_program(nb::module_& module) {
  nb::class_<Program>(module, "Program")
      .def(nb::init<nb::object, const std::vector<nb::object>&>(), nb::arg("data"), nb::arg("external"))
      .def_prop_ro("method_names", [](const Program& self) {
        std::vector<std::string> names;
        for (size_t i = 0; i < self.program().num_methods(); ++i) {
          names.emplace_back(take("get_method_name", self.program().get_method_name(i)));
        }
        return names;
      });
}

}  // namespace etconfig
