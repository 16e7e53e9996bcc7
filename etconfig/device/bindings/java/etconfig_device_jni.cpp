// The native methods of org.etconfig.device.Device, over etconfig_device.h. Device.java checks that texts are
// there, and that the object is open; it lets one thread in at a time.

#include <etconfig/etconfig_device.h>
#include <jni.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

// An object with the bundle that it refers to; both in one block of memory.
struct Handle {
  etconfig_device* device;
  void* memory;
};

Handle* handle_of(jlong handle) { return reinterpret_cast<Handle*>(handle); }
etconfig_device* device_of(jlong handle) { return handle_of(handle)->device; }

// UTF-8 without a NUL in it.
std::string text_of(JNIEnv* env, jbyteArray bytes) {
  std::string text(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(text.size()), reinterpret_cast<jbyte*>(&text[0]));
  return text;
}

// Null with a pending OutOfMemoryError if there is no memory.
jbyteArray array_of(JNIEnv* env, const char* text, size_t size) {
  const auto length = static_cast<jsize>(size);
  const jbyteArray bytes = env->NewByteArray(length);
  if (bytes != nullptr) env->SetByteArrayRegion(bytes, 0, length, reinterpret_cast<const jbyte*>(text));
  return bytes;
}
jbyteArray array_of(JNIEnv* env, const char* text) {
  return text == nullptr ? nullptr : array_of(env, text, std::char_traits<char>::length(text));
}

// The text that `write(buffer, size)` writes.
template <typename Write>
jbyteArray written(JNIEnv* env, const Write& write) {
  std::vector<char> buffer(write(nullptr, 0) + 1);
  return array_of(env, buffer.data(), write(buffer.data(), buffer.size()));
}

template <typename Call>
jint with_texts(JNIEnv* env, jobjectArray values, const Call& call) {
  const auto count = static_cast<uint32_t>(env->GetArrayLength(values));
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
  for (uint32_t i = 0; i < count; ++i) {
    const auto item = static_cast<jbyteArray>(env->GetObjectArrayElement(values, static_cast<jsize>(i)));
    texts.push_back(text_of(env, item));
    env->DeleteLocalRef(item);
  }
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return call(pointers.data(), count);
}

void set_text(JNIEnv* env, const char* text, jobjectArray result) {
  const jbyteArray bytes = array_of(env, text);
  if (bytes != nullptr) env->SetObjectArrayElement(result, 0, bytes);
}

std::vector<uint8_t> bytes_of(JNIEnv* env, jbyteArray array) {
  std::vector<uint8_t> bytes(static_cast<size_t>(env->GetArrayLength(array)));
  env->GetByteArrayRegion(array, 0, static_cast<jsize>(bytes.size()), reinterpret_cast<jbyte*>(bytes.data()));
  return bytes;
}

// The demands of an application in Java.
class JavaDemands {
 public:
  JavaDemands(JNIEnv* env, jobject verifier, jbyteArray public_keys, jlong least_revision, jlong now)
      : env_(env), verifier_(verifier), keys_(bytes_of(env, public_keys)) {
    if (verifier != nullptr) demands_.verify = &verify;
    demands_.context = this;
    demands_.public_keys = keys_.data();
    demands_.key_count = static_cast<uint32_t>(keys_.size() / kKeyBytes);
    demands_.least_revision = static_cast<uint64_t>(least_revision);
    demands_.now = static_cast<uint64_t>(now);
  }
  const etconfig_device_demands* get() const { return &demands_; }

 private:
  static constexpr size_t kKeyBytes = 32;
  static constexpr size_t kSignatureBytes = 64;

  // 0 also if the verifier throws: its exception stays pending, so that Java throws it.
  static int verify(void* context, const uint8_t* data, size_t size, const uint8_t* signature,
                    const uint8_t* public_key) {
    const auto* const self = static_cast<const JavaDemands*>(context);
    JNIEnv* const env = self->env_;
    if (env->ExceptionCheck()) return 0;
    const jbyteArray content = array_of(env, reinterpret_cast<const char*>(data), size);
    if (content == nullptr) return 0;
    const jbyteArray signed_by = array_of(env, reinterpret_cast<const char*>(signature), kSignatureBytes);
    const jbyteArray key = signed_by == nullptr
        ? nullptr
        : array_of(env, reinterpret_cast<const char*>(public_key), kKeyBytes);
    if (key == nullptr) return 0;
    const jmethodID method =
        env->GetMethodID(env->GetObjectClass(self->verifier_), "verify", "([B[B[B)Z");
    if (method == nullptr) return 0;
    const jboolean is_right = env->CallBooleanMethod(self->verifier_, method, content, signed_by, key);
    for (const jbyteArray each : {content, signed_by, key}) env->DeleteLocalRef(each);
    return is_right == JNI_TRUE && !env->ExceptionCheck() ? 1 : 0;
  }

  JNIEnv* env_;
  jobject verifier_;
  std::vector<uint8_t> keys_;
  etconfig_device_demands demands_{};
};

// Makes an object with `size` bytes of a bundle, which `open(device, bytes)` fills and opens.
template <typename Open>
jint make(JNIEnv* env, size_t size, jlongArray result, const Open& open) {
  const size_t object_size = (sizeof(Handle) + 15) / 16 * 16;
  const size_t device_size = (etconfig_device_size() + 15) / 16 * 16;
  char* const memory = static_cast<char*>(std::malloc(object_size + device_size + size));
  if (memory == nullptr) {
    env->ThrowNew(env->FindClass("java/lang/OutOfMemoryError"), "no memory for a device bundle");
    return ETCONFIG_DEVICE_TOO_SMALL;
  }
  auto* const handle = reinterpret_cast<Handle*>(memory);
  handle->memory = memory;
  handle->device = etconfig_device_create(memory + object_size, device_size);
  const int status = open(handle->device, memory + object_size + device_size);
  if (status != ETCONFIG_DEVICE_OK) {
    std::free(memory);
    return status;
  }
  const auto address = reinterpret_cast<jlong>(handle);
  env->SetLongArrayRegion(result, 0, 1, &address);
  return status;
}

}  // namespace

#define NATIVE(type, name) extern "C" JNIEXPORT type JNICALL Java_org_etconfig_device_Device_native##name

NATIVE(jint, Open)(JNIEnv* env, jclass, jbyteArray bundle, jobject verifier, jbyteArray public_keys,
                   jlong least_revision, jlong now, jlongArray result) {
  const JavaDemands demands(env, verifier, public_keys, least_revision, now);
  const jsize size = env->GetArrayLength(bundle);
  return make(env, static_cast<size_t>(size), result, [&](etconfig_device* device, char* bytes) {
    env->GetByteArrayRegion(bundle, 0, size, reinterpret_cast<jbyte*>(bytes));
    return etconfig_device_open_checked(device, bytes, static_cast<size_t>(size), demands.get());
  });
}
NATIVE(jint, Install)(JNIEnv* env, jclass, jbyteArray directory, jbyteArray bundle, jobject verifier,
                      jbyteArray public_keys, jlong least_revision, jlong now) {
  const JavaDemands demands(env, verifier, public_keys, least_revision, now);
  const std::vector<uint8_t> bytes = bytes_of(env, bundle);
  const void* const data = bytes.empty() ? static_cast<const void*>("") : bytes.data();
  return etconfig_device_store_install(text_of(env, directory).c_str(), data, bytes.size(), demands.get());
}
NATIVE(jint, Load)(JNIEnv* env, jclass, jbyteArray directory, jobject verifier, jbyteArray public_keys,
                   jlong least_revision, jlong now, jlongArray result) {
  const JavaDemands demands(env, verifier, public_keys, least_revision, now);
  const std::string path = text_of(env, directory);
  const size_t size = etconfig_device_store_size(path.c_str());
  return make(env, size, result, [&](etconfig_device* device, char* bytes) {
    return etconfig_device_store_load(device, path.c_str(), bytes, size, demands.get());
  });
}
NATIVE(jint, Settle)(JNIEnv* env, jclass, jlong handle, jbyteArray directory, jboolean is_good) {
  const auto settle = is_good ? etconfig_device_store_confirm : etconfig_device_store_reject;
  return settle(device_of(handle), text_of(env, directory).c_str());
}
NATIVE(void, Close)(JNIEnv*, jclass, jlong handle) { std::free(handle_of(handle)->memory); }

NATIVE(jbyteArray, StatusName)(JNIEnv* env, jclass, jint status) {
  return array_of(env, etconfig_device_status_name(status));
}
NATIVE(jbyteArray, Producer)(JNIEnv* env, jclass, jlong handle) {
  return array_of(env, etconfig_device_producer(device_of(handle)));
}
NATIVE(jbyteArray, Id)(JNIEnv* env, jclass, jlong handle) {
  return array_of(env, etconfig_device_id(device_of(handle)));
}
NATIVE(jlong, Revision)(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(etconfig_device_revision(device_of(handle)));
}
NATIVE(jlong, NotAfter)(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(etconfig_device_not_after(device_of(handle)));
}

// --- facts ---

NATIVE(jbyteArray, FactName)(JNIEnv* env, jclass, jlong handle, jint index) {
  return array_of(env, etconfig_device_fact_name(device_of(handle), static_cast<uint32_t>(index)));
}
NATIVE(jboolean, FactIsLive)(JNIEnv*, jclass, jlong handle, jint index) {
  return etconfig_device_fact_is_live(device_of(handle), static_cast<uint32_t>(index)) == 1;
}
NATIVE(jint, Detect)(JNIEnv*, jclass, jlong handle) { return etconfig_device_detect(device_of(handle)); }
NATIVE(jint, SetBoolean)(JNIEnv* env, jclass, jlong handle, jbyteArray fact, jboolean value) {
  return etconfig_device_set_boolean(device_of(handle), text_of(env, fact).c_str(), value);
}
NATIVE(jint, SetLong)(JNIEnv* env, jclass, jlong handle, jbyteArray fact, jlong value) {
  return etconfig_device_set_integer(device_of(handle), text_of(env, fact).c_str(), value);
}
NATIVE(jint, SetDouble)(JNIEnv* env, jclass, jlong handle, jbyteArray fact, jdouble value) {
  return etconfig_device_set_number(device_of(handle), text_of(env, fact).c_str(), value);
}
NATIVE(jint, SetText)(JNIEnv* env, jclass, jlong handle, jbyteArray fact, jbyteArray value) {
  return etconfig_device_set_text(device_of(handle), text_of(env, fact).c_str(), text_of(env, value).c_str());
}
NATIVE(jint, SetTexts)(JNIEnv* env, jclass, jlong handle, jbyteArray fact, jobjectArray values) {
  const std::string name = text_of(env, fact);
  return with_texts(env, values, [&](const char* const* texts, uint32_t count) {
    return etconfig_device_set_texts(device_of(handle), name.c_str(), texts, count);
  });
}
NATIVE(jint, SetUnknown)(JNIEnv* env, jclass, jlong handle, jbyteArray fact, jbyteArray reason) {
  return etconfig_device_set_unknown(device_of(handle), text_of(env, fact).c_str(),
                                     text_of(env, reason).c_str());
}
NATIVE(jint, SetBackends)(JNIEnv* env, jclass, jlong handle, jobjectArray ids) {
  return with_texts(env, ids, [&](const char* const* texts, uint32_t count) {
    return etconfig_device_set_backends(device_of(handle), texts, count);
  });
}
NATIVE(jint, Forget)(JNIEnv* env, jclass, jlong handle, jbyteArray fact) {
  return etconfig_device_forget(device_of(handle), text_of(env, fact).c_str());
}
NATIVE(jbyteArray, FactsJson)(JNIEnv* env, jclass, jlong handle) {
  return written(env, [&](char* buffer, size_t size) {
    return etconfig_device_facts_json(device_of(handle), buffer, size);
  });
}

// --- profiles ---

NATIVE(jint, Select)(JNIEnv*, jclass, jlong handle) { return etconfig_device_select(device_of(handle)); }
NATIVE(jbyteArray, WrongFact)(JNIEnv* env, jclass, jlong handle) {
  return array_of(env, etconfig_device_wrong_fact(device_of(handle)));
}
NATIVE(jint, UseProfile)(JNIEnv* env, jclass, jlong handle, jbyteArray name) {
  return etconfig_device_use_profile(device_of(handle), text_of(env, name).c_str());
}
NATIVE(jbyteArray, Profile)(JNIEnv* env, jclass, jlong handle) {
  return array_of(env, etconfig_device_profile(device_of(handle)));
}
NATIVE(jboolean, IsFallback)(JNIEnv*, jclass, jlong handle) {
  return etconfig_device_is_fallback(device_of(handle)) == 1;
}
NATIVE(jbyteArray, ProfileName)(JNIEnv* env, jclass, jlong handle, jint index) {
  return array_of(env, etconfig_device_profile_name(device_of(handle), static_cast<uint32_t>(index)));
}
NATIVE(jbyteArray, ExplainMatch)(JNIEnv* env, jclass, jlong handle, jint index) {
  return written(env, [&](char* buffer, size_t size) {
    return etconfig_device_explain_match(device_of(handle), static_cast<uint32_t>(index), buffer, size);
  });
}

// --- arguments ---

NATIVE(jint, Resolve)(JNIEnv* env, jclass, jlong handle, jbyteArray method, jbyteArray instance) {
  const std::string name = instance == nullptr ? std::string() : text_of(env, instance);
  const char* const named = instance == nullptr ? nullptr : name.c_str();
  return etconfig_device_resolve(device_of(handle), text_of(env, method).c_str(), named);
}
NATIVE(jint, Update)(JNIEnv*, jclass, jlong handle) {
  return etconfig_device_update(device_of(handle), nullptr, nullptr);
}
NATIVE(jbyteArray, Option)(JNIEnv* env, jclass, jlong handle, jint index, jboolean is_name) {
  const auto get = is_name ? etconfig_device_option_name : etconfig_device_option_backend;
  return array_of(env, get(device_of(handle), static_cast<uint32_t>(index)));
}
NATIVE(jbyteArray, Changed)(JNIEnv* env, jclass, jlong handle, jint index, jboolean is_name) {
  const auto get = is_name ? etconfig_device_changed_name : etconfig_device_changed_backend;
  return array_of(env, get(device_of(handle), static_cast<uint32_t>(index)));
}
NATIVE(jbyteArray, Problem)(JNIEnv* env, jclass, jlong handle, jint index) {
  if (etconfig_device_problem_status(device_of(handle), static_cast<uint32_t>(index)) < 0) return nullptr;
  return written(env, [&](char* buffer, size_t size) {
    return etconfig_device_problem(device_of(handle), static_cast<uint32_t>(index), buffer, size);
  });
}
NATIVE(jboolean, AppliesAtExecute)(JNIEnv* env, jclass, jlong handle, jbyteArray backend, jbyteArray option) {
  const std::string id = text_of(env, backend);
  return etconfig_device_applies_at_execute(device_of(handle), id.c_str(), text_of(env, option).c_str()) == 1;
}
NATIVE(jint, Boolean)(JNIEnv* env, jclass, jlong handle, jbyteArray backend, jbyteArray option,
                      jbooleanArray result) {
  int value = 0;
  const std::string id = text_of(env, backend);
  const int status =
      etconfig_device_boolean(device_of(handle), id.c_str(), text_of(env, option).c_str(), &value);
  const jboolean read = value != 0;
  env->SetBooleanArrayRegion(result, 0, 1, &read);
  return status;
}
NATIVE(jint, Long)(JNIEnv* env, jclass, jlong handle, jbyteArray backend, jbyteArray option,
                   jlongArray result) {
  int64_t value = 0;
  const std::string id = text_of(env, backend);
  const int status =
      etconfig_device_integer(device_of(handle), id.c_str(), text_of(env, option).c_str(), &value);
  const jlong read = value;
  env->SetLongArrayRegion(result, 0, 1, &read);
  return status;
}
NATIVE(jint, Double)(JNIEnv* env, jclass, jlong handle, jbyteArray backend, jbyteArray option,
                     jdoubleArray result) {
  jdouble value = 0;
  const std::string id = text_of(env, backend);
  const int status =
      etconfig_device_number(device_of(handle), id.c_str(), text_of(env, option).c_str(), &value);
  env->SetDoubleArrayRegion(result, 0, 1, &value);
  return status;
}
NATIVE(jbyteArray, Text)(JNIEnv* env, jclass, jlong handle, jbyteArray backend, jbyteArray option,
                         jboolean is_json) {
  const std::string id = text_of(env, backend);
  const std::string name = text_of(env, option);
  if (etconfig_device_value_kind(device_of(handle), id.c_str(), name.c_str()) < 0) return nullptr;
  const auto write = is_json ? etconfig_device_json : etconfig_device_text;
  return written(env, [&](char* buffer, size_t size) {
    return write(device_of(handle), id.c_str(), name.c_str(), buffer, size);
  });
}
NATIVE(jbyteArray, Explain)(JNIEnv* env, jclass, jlong handle, jbyteArray path) {
  const std::string option = text_of(env, path);
  return written(env, [&](char* buffer, size_t size) {
    return etconfig_device_explain(device_of(handle), option.c_str(), buffer, size);
  });
}

// --- models ---

NATIVE(jint, SelectModel)(JNIEnv* env, jclass, jlong handle, jbyteArray model, jobjectArray result) {
  const char* file = nullptr;
  const int status = etconfig_device_select_model(device_of(handle), text_of(env, model).c_str(), &file);
  set_text(env, file, result);
  return status;
}
NATIVE(jint, NextVariant)(JNIEnv* env, jclass, jlong handle, jbyteArray reason, jobjectArray result) {
  const char* file = nullptr;
  const int status = etconfig_device_next_variant(device_of(handle), text_of(env, reason).c_str(), &file);
  set_text(env, file, result);
  return status;
}
NATIVE(jbyteArray, VariantFile)(JNIEnv* env, jclass, jlong handle, jint index) {
  return array_of(env, etconfig_device_variant_file(device_of(handle), static_cast<uint32_t>(index)));
}
NATIVE(jbyteArray, VariantBackend)(JNIEnv* env, jclass, jlong handle, jint index) {
  return array_of(env, etconfig_device_variant_backend(device_of(handle), static_cast<uint32_t>(index)));
}
NATIVE(jint, Variant)(JNIEnv*, jclass, jlong handle) { return etconfig_device_variant(device_of(handle)); }
NATIVE(jbyteArray, ExplainVariant)(JNIEnv* env, jclass, jlong handle, jint index) {
  return written(env, [&](char* buffer, size_t size) {
    return etconfig_device_explain_variant(device_of(handle), static_cast<uint32_t>(index), buffer, size);
  });
}

// --- usage ---

NATIVE(jint, Usage)(JNIEnv* env, jclass, jlong handle, jobjectArray texts, jlongArray integers,
                    jdoubleArray durations, jobjectArray result) {
  std::string given[2];
  for (jsize i = 0; i < 2; ++i) {
    const auto item = static_cast<jbyteArray>(env->GetObjectArrayElement(texts, i));
    if (item != nullptr) given[i] = text_of(env, item);
    env->DeleteLocalRef(item);
  }
  jlong numbers[2];
  env->GetLongArrayRegion(integers, 0, 2, numbers);
  etconfig_usage usage = ETCONFIG_USAGE_INIT;
  usage.device = given[0].c_str();
  usage.failure = given[1].c_str();
  usage.at_ms = numbers[0];
  usage.runs = numbers[1];
  jdouble micros[4];
  env->GetDoubleArrayRegion(durations, 0, 4, micros);
  usage.load_us = micros[0];
  usage.first_run_us = micros[1];
  usage.p50_us = micros[2];
  usage.p95_us = micros[3];
  if (result == nullptr) return etconfig_device_usage_reason(device_of(handle), &usage);
  char line[ETCONFIG_USAGE_BYTES];
  const int status = etconfig_device_usage(device_of(handle), &usage, line, sizeof line);
  set_text(env, line, result);
  return status;
}
