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

void set_file(JNIEnv* env, const char* file, jobjectArray result) {
  const jbyteArray bytes = array_of(env, file);
  if (bytes != nullptr) env->SetObjectArrayElement(result, 0, bytes);
}

}  // namespace

#define NATIVE(type, name) extern "C" JNIEXPORT type JNICALL Java_org_etconfig_device_Device_native##name

NATIVE(jint, Open)(JNIEnv* env, jclass, jbyteArray bundle, jlongArray result) {
  const jsize size = env->GetArrayLength(bundle);
  const size_t object_size = (sizeof(Handle) + 15) / 16 * 16;
  const size_t device_size = (etconfig_device_size() + 15) / 16 * 16;
  char* const memory = static_cast<char*>(std::malloc(object_size + device_size + static_cast<size_t>(size)));
  if (memory == nullptr) {
    env->ThrowNew(env->FindClass("java/lang/OutOfMemoryError"), "no memory for a device bundle");
    return ETCONFIG_DEVICE_TOO_SMALL;
  }
  char* const bytes = memory + object_size + device_size;
  env->GetByteArrayRegion(bundle, 0, size, reinterpret_cast<jbyte*>(bytes));
  auto* const handle = reinterpret_cast<Handle*>(memory);
  handle->memory = memory;
  handle->device = etconfig_device_create(memory + object_size, device_size);
  const int status = etconfig_device_open(handle->device, bytes, static_cast<size_t>(size));
  if (status != ETCONFIG_DEVICE_OK) {
    std::free(memory);
    return status;
  }
  const auto address = reinterpret_cast<jlong>(handle);
  env->SetLongArrayRegion(result, 0, 1, &address);
  return status;
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
  set_file(env, file, result);
  return status;
}
NATIVE(jint, NextVariant)(JNIEnv* env, jclass, jlong handle, jbyteArray reason, jobjectArray result) {
  const char* file = nullptr;
  const int status = etconfig_device_next_variant(device_of(handle), text_of(env, reason).c_str(), &file);
  set_file(env, file, result);
  return status;
}
NATIVE(jbyteArray, VariantFile)(JNIEnv* env, jclass, jlong handle, jint index) {
  return array_of(env, etconfig_device_variant_file(device_of(handle), static_cast<uint32_t>(index)));
}
NATIVE(jbyteArray, ExplainVariant)(JNIEnv* env, jclass, jlong handle, jint index) {
  return written(env, [&](char* buffer, size_t size) {
    return etconfig_device_explain_variant(device_of(handle), static_cast<uint32_t>(index), buffer, size);
  });
}
