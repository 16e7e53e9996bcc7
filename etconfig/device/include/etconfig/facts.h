// Detects the facts about the device that a program runs on: the ones that it asks for, nothing else.
//
// C++17, header only; needs the standard library and the calls of the system, allocates nothing, throws
// nothing. Linux and Android are read through procfs, sysfs, `sched_getaffinity`, control groups, the device
// tree, DMI and Android's properties, Apple systems by `sysctl`. Names, values, units, origins and reasons
// are those of `etconfig facts`.
//
//   FactStore<128> facts;
//   detect(bundle, &facts);                                  // the facts that a bundle of device.h reads
//   detect({"cpu.performance_cores", "soc.model"}, &facts);  // or these two
//   facts.set("power.source", "battery");  // only the application knows
//
// A fact that the application has set, with any origin, is left alone.
// Detection takes up to 112 kB of the stack.

#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "etconfig/fact_store.h"

#if !defined(_WIN32)
#include "etconfig/facts/accelerators.h"
#include "etconfig/facts/android.h"
#include "etconfig/facts/apple.h"
#include "etconfig/facts/cpu.h"
#include "etconfig/facts/host.h"
#include "etconfig/facts/platform.h"
#endif
#include "etconfig/facts/registry.h"
#include "version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

namespace detection {

#if !defined(_WIN32)

using Find = void (*)(System*, Readings*);

// The functions of a topic.
struct TopicFinders {
  Find on_linux;
  Find on_android;
  Find on_apple;
};

inline constexpr TopicFinders kFinders[] = {
    {detect_operating_system, detect_android_system, detect_apple_system},
    {detect_cpu, nullptr, detect_apple_cpu},
    {detect_cores, nullptr, detect_apple_cores},
    {detect_available_cores, nullptr, detect_apple_available_cores},
    {detect_memory, nullptr, detect_apple_memory},
    {detect_power, detect_android_power, detect_apple_power},
    {detect_thermal, detect_android_thermal, detect_apple_thermal},
    {detect_device, detect_android_device, detect_apple_device},
    {detect_gpu, detect_android_gpu, detect_apple_gpu},
    {detect_npu, detect_android_npu, detect_apple_npu},
};

inline std::string_view reason_to_set(Topic topic) {
  return topic == Topic::None ? kNeverDetected : kOnlyInPython;
}

inline void leave_to_application(Topic topic, Readings* to) {
  for (const FactInfo& info : kFacts) {
    if (info.topic == topic && !is_family(info)) to->unknown(info.name, "nothing", reason_to_set(topic));
  }
}

// On the system that this is compiled for; the code for other systems is left out of the program.
inline void find_topic_here(System* system, size_t index, Readings* to) {
#if defined(ETCONFIG_FACTS_APPLE)
  constexpr Find kHere[] = {
      detect_apple_system, detect_apple_cpu,   detect_apple_cores,   detect_apple_available_cores,
      detect_apple_memory, detect_apple_power, detect_apple_thermal, detect_apple_device,
      detect_apple_gpu,    detect_apple_npu};
#elif defined(__ANDROID__)
  // without its services, Android has the files of Linux for power and temperature
  constexpr Find kHere[] = {detect_android_system, detect_cpu,   detect_cores,   detect_available_cores,
                            detect_memory,         detect_power, detect_thermal, detect_android_device,
                            detect_android_gpu,    detect_android_npu};
#else
  constexpr Find kHere[] = {detect_operating_system, detect_cpu,   detect_cores,   detect_available_cores,
                            detect_memory,           detect_power, detect_thermal, detect_device,
                            detect_gpu,              detect_npu};
#endif
  kHere[index](system, to);
}

// On the system that a tree was captured on. Where Android's function
// gives no reading, that of Linux is called.
inline void find_topic_captured(System* system, size_t index, Readings* to) {
  const TopicFinders& finders = kFinders[index];
  const bool is_android = system->is_on("Android") && finders.on_android != nullptr;
  if (is_android) finders.on_android(system, to);
  if (system->is_on("Darwin")) {
    finders.on_apple(system, to);
  } else if (!is_android || to->is_empty()) {
    finders.on_linux(system, to);
  }
}

// Members of families may be gone since the last detection.
inline void forget_members(const Request& request, Facts* facts) {
  for (uint32_t i = facts->size(); i-- > 0;) {
    const FactView fact = facts->at(i);
    const size_t index = index_of_fact(fact.name());
    if (index == kNoFact || !is_family(kFacts[index]) || !request.has(index) || !fact.is_detected()) continue;
    facts->remove(fact.name());
  }
}

// Finds the facts of a request on `system`, with one of the two functions above.
inline FactStatus find_topics(System* system, const Request& request, Facts* facts,
                              void (*find)(System*, size_t, Readings*)) {
  forget_members(request, facts);
  FactStatus status = FactStatus::Ok;
  for (size_t topic = 0; topic <= static_cast<size_t>(Topic::None); ++topic) {
    if (!request.has_topic(static_cast<Topic>(topic))) continue;
    Readings readings(facts, request, static_cast<Topic>(topic));
    if (topic >= sizeof kFinders / sizeof kFinders[0] || system->is_on("Windows")) {
      leave_to_application(static_cast<Topic>(topic), &readings);
    } else {
      find(system, topic, &readings);
      readings.finish(system->host());
    }
    if (status == FactStatus::Ok) status = readings.status();
  }
  return status;
}

inline FactStatus find_facts(const Request& request, Facts* facts) {
  System system(nullptr);
  read_host(&system.host());
  return find_topics(&system, request, facts, find_topic_here);
}

inline FactStatus find_facts_in(const Request& request, Facts* facts, std::string_view root) {
  if (root == "/") return find_facts(request, facts);
  FixedText<4096> terminated;
  terminated << root << '\0';
  if (terminated.is_cut()) return FactStatus::BadTree;
  System system(terminated.view().data());
  if (!read_captured_host(&system)) return FactStatus::BadTree;
  return find_topics(&system, request, facts, find_topic_captured);
}

#else

inline FactStatus find_facts(const Request& request, Facts* facts) {
  FactStatus status = FactStatus::Ok;
  for (size_t fact = 0; fact < kFactCount; ++fact) {
    if (!request.has(fact) || is_family(kFacts[fact]) || facts->find(kFacts[fact].name).is_present()) {
      continue;
    }
    const FactStatus set =
        facts->set_unknown(kFacts[fact].name, reason_to_set(kFacts[fact].topic), "detected nothing");
    facts->mark_detected(kFacts[fact].name);
    if (status == FactStatus::Ok) status = set;
  }
  return status;
}

inline FactStatus find_facts_in(const Request& request, Facts* facts, std::string_view) {
  return find_facts(request, facts);
}

#endif

}  // namespace detection

// Detects what a caller asks for, name by name:
//
//   Detection detection;
//   for (...) detection.want(name, &facts);
//   detection.run(&facts);
class Detection {
 public:
  // Asks for a fact, such as `gpu.0.name`, which asks for the names of all GPUs. A fact that etconfig does
  // not know is unknown from now on, unless the application has set it.
  FactStatus want(std::string_view name, Facts* facts) {
    const size_t fact = detection::index_of_fact(name);
    if (fact != detection::kNoFact) {
      request_.add(fact);
      return FactStatus::Ok;
    }
    if (facts->find(name).is_present()) return FactStatus::Ok;
    const FactStatus set =
        facts->set_unknown(name, "no detector looks for it; the application sets it", "detected nothing");
    facts->mark_detected(name);
    return set;
  }
  void want_all() { request_.add_all(); }

  // Replaces what was detected before.
  FactStatus run(Facts* facts) const { return detection::find_facts(request_, facts); }
  // `root` is `/` for this device, or the root of a tree that was captured on another one.
  FactStatus run(Facts* facts, std::string_view root) const {
    return detection::find_facts_in(request_, facts, root);
  }

 private:
  detection::Request request_;
};

// Detects the facts with these names, or those that a bundle reads, or every fact that etconfig knows. With a
// root, those of a captured tree; a program that never gives one contains the code for its own system only.

template <typename... Root>
FactStatus detect(const std::string_view* names, size_t count, Facts* facts, Root... root) {
  Detection detection;
  FactStatus status = FactStatus::Ok;
  for (size_t i = 0; i < count; ++i) {
    const FactStatus wanted = detection.want(names[i], facts);
    if (status == FactStatus::Ok) status = wanted;
  }
  const FactStatus found = detection.run(facts, std::string_view(root)...);
  return status == FactStatus::Ok ? found : status;
}

template <typename... Root>
FactStatus detect(std::initializer_list<std::string_view> names, Facts* facts, Root... root) {
  return detect(names.begin(), names.size(), facts, root...);
}

template <typename AnyBundle, typename... Root>
auto detect(const AnyBundle& bundle, Facts* facts, Root... root)
    -> decltype(bundle.fact_count(), FactStatus()) {
  Detection detection;
  FactStatus status = FactStatus::Ok;
  for (uint32_t i = 0; i < bundle.fact_count(); ++i) {
    const FactStatus wanted = detection.want(bundle.fact(i).name, facts);
    if (status == FactStatus::Ok) status = wanted;
  }
  const FactStatus found = detection.run(facts, std::string_view(root)...);
  return status == FactStatus::Ok ? found : status;
}

template <typename... Root>
FactStatus detect_all(Facts* facts, Root... root) {
  Detection detection;
  detection.want_all();
  return detection.run(facts, std::string_view(root)...);
}

}  // inline namespace
}  // namespace etconfig::device
