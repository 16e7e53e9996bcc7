// The version of these headers. A program whose parts were built with
// two of them still links: their names differ.

#pragma once

#define ETCONFIG_VERSION_MAJOR 0
#define ETCONFIG_VERSION_MINOR 1
#define ETCONFIG_VERSION_PATCH 0
#define ETCONFIG_INLINE_NAMESPACE v0_1_0
