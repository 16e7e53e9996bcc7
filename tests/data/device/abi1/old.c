/* An application of before: it is compiled with the first header of ABI 1, calls each function of it, and prints
   the profile. Neither this file nor the header beside it changes while that ABI is promised. */
#include "etconfig/etconfig_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                        \
  if (!(condition)) {                                            \
    fprintf(stderr, "line %d: %s\n", __LINE__, #condition);      \
    return 1;                                                    \
  }

int main(int count, char** arguments) {
  static char bytes[1 << 21];
  char line[512];
  const char* texts[2] = {"A", "B"};
  const char* file = "before";
  int flag = 0;
  int64_t integer = 0;
  double number = 0;
  uint32_t changed = 0;
  uint32_t at_execute = 0;

  EXPECT(count == 2);
  FILE* stream = fopen(arguments[1], "rb");
  EXPECT(stream != NULL);
  size_t size = fread(bytes, 1, sizeof bytes, stream);
  fclose(stream);

  EXPECT(etconfig_device_version() >= ETCONFIG_DEVICE_VERSION);
  EXPECT(strcmp(etconfig_device_status_name(ETCONFIG_DEVICE_NO_MATCH), "no profile matches") == 0);
  size_t needed = etconfig_device_size();
  etconfig_device* device = etconfig_device_create(malloc(needed), needed);
  EXPECT(device != NULL);
  EXPECT(etconfig_device_select(device) == ETCONFIG_DEVICE_WRONG_ORDER);
  EXPECT(etconfig_device_open(device, bytes, 3) == ETCONFIG_DEVICE_NOT_A_BUNDLE);
  EXPECT(etconfig_device_open(device, bytes, size) == ETCONFIG_DEVICE_OK);
  EXPECT(strncmp(etconfig_device_producer(device), "etconfig ", 9) == 0);
  EXPECT(strlen(etconfig_device_fingerprint(device)) > 8);

  EXPECT(etconfig_device_fact_kind(device, 100000) == -1);
  EXPECT(etconfig_device_fact_is_live(device, 100000) == -1);
  EXPECT(etconfig_device_fact_name(device, 100000) == NULL);
  EXPECT(etconfig_device_fact_unit(device, 100000) == NULL);
  EXPECT(etconfig_device_detect(device) == ETCONFIG_DEVICE_OK);
  EXPECT(etconfig_device_set_boolean(device, "no.such", 1) == ETCONFIG_DEVICE_NO_SUCH_FACT);
  EXPECT(etconfig_device_set_integer(device, "no.such", 1) == ETCONFIG_DEVICE_NO_SUCH_FACT);
  EXPECT(etconfig_device_set_number(device, "no.such", 1) == ETCONFIG_DEVICE_NO_SUCH_FACT);
  EXPECT(etconfig_device_set_text(device, "no.such", "a") == ETCONFIG_DEVICE_NO_SUCH_FACT);
  EXPECT(etconfig_device_set_texts(device, "no.such", texts, 2) == ETCONFIG_DEVICE_NO_SUCH_FACT);
  EXPECT(etconfig_device_set_unknown(device, "no.such", "why") == ETCONFIG_DEVICE_NO_SUCH_FACT);
  EXPECT(etconfig_device_set_backends(device, texts, 2) == ETCONFIG_DEVICE_OK);
  EXPECT(etconfig_device_forget(device, "no.such") == ETCONFIG_DEVICE_NO_SUCH_FACT);
  EXPECT(etconfig_device_facts_json(device, line, sizeof line) > 10);

  EXPECT(etconfig_device_select(device) == ETCONFIG_DEVICE_OK);
  EXPECT(etconfig_device_is_fallback(device) >= 0);
  EXPECT(etconfig_device_wrong_fact(device) == NULL);
  EXPECT(etconfig_device_use_profile(device, "no/such") == ETCONFIG_DEVICE_NO_SUCH_PROFILE);
  EXPECT(etconfig_device_use_profile(device, etconfig_device_profile_name(device, 0)) == ETCONFIG_DEVICE_OK);
  const char* profile = etconfig_device_profile(device);
  EXPECT(profile != NULL);
  etconfig_device_explain_match(device, 0, line, sizeof line);
  const char* method = etconfig_device_method(device, 0);
  const char* instance = etconfig_device_instance(device, 0);

  EXPECT(etconfig_device_resolve(device, "no such", instance) == ETCONFIG_DEVICE_NO_SUCH_METHOD ||
         strcmp(method, "*") == 0);
  EXPECT(etconfig_device_resolve(device, method, instance) == ETCONFIG_DEVICE_OK);
  EXPECT(etconfig_device_update(device, &changed, &at_execute) == ETCONFIG_DEVICE_OK);
  EXPECT(changed == 0 && at_execute == 0);
  EXPECT(etconfig_device_changed_backend(device, 0) == NULL);
  EXPECT(etconfig_device_changed_name(device, 0) == NULL);
  EXPECT(etconfig_device_problem_status(device, 0) == -1);
  EXPECT(etconfig_device_problem(device, 0, line, sizeof line) == 0);
  const char* backend = etconfig_device_option_backend(device, 0);
  const char* option = etconfig_device_option_name(device, 0);
  if (backend != NULL) {
    int kind = etconfig_device_value_kind(device, backend, option);
    int status = etconfig_device_boolean(device, backend, option, &flag);
    EXPECT(status == (kind == ETCONFIG_DEVICE_BOOLEAN ? ETCONFIG_DEVICE_OK : ETCONFIG_DEVICE_OTHER_KIND));
    status = etconfig_device_integer(device, backend, option, &integer);
    EXPECT(status == (kind == ETCONFIG_DEVICE_INTEGER ? ETCONFIG_DEVICE_OK : ETCONFIG_DEVICE_OTHER_KIND));
    status = etconfig_device_number(device, backend, option, &number);
    EXPECT(status == (kind == ETCONFIG_DEVICE_NUMBER ? ETCONFIG_DEVICE_OK : ETCONFIG_DEVICE_OTHER_KIND));
    EXPECT(etconfig_device_text(device, backend, option, line, sizeof line) > 0);
    EXPECT(etconfig_device_json(device, backend, option, line, sizeof line) > 0);
    EXPECT(etconfig_device_origin(device, backend, option) != NULL);
    EXPECT(etconfig_device_is_changed(device, backend, option) == 0);
    EXPECT(etconfig_device_applies_at_execute(device, backend, option) >= 0);
  }
  EXPECT(etconfig_device_explain(device, "No.such", line, sizeof line) == 0);

  EXPECT(etconfig_device_model_name(device, 100000) == NULL);
  EXPECT(etconfig_device_select_model(device, "no such", &file) == ETCONFIG_DEVICE_NO_SUCH_MODEL);
  EXPECT(file == NULL);
  EXPECT(etconfig_device_next_variant(device, "why", &file) == ETCONFIG_DEVICE_NO_VARIANT);
  EXPECT(etconfig_device_variant_file(device, 0) == NULL);
  EXPECT(etconfig_device_variant(device) == -1);
  EXPECT(etconfig_device_has_fallback(device) == -1);
  EXPECT(etconfig_device_explain_variant(device, 0, line, sizeof line) == 0);
  puts(profile);
  free(device);
  return 0;
}
