/*
** info.c - clGet*Info by tables: a row for each query, a case below for each
** kind of value.
** SPDX-License-Identifier: MIT
*/
#include <ctype.h>
#include <string.h>

#include "device.h"

#define MAXVALUE (16 << 20) /* bytes of an answer; a driver with more errs */

#define NV "cl_nv_device_attribute_query"
#define AMD "cl_amd_device_attribute_query"
#define OF(name, NAME, kind)                                                  \
  { #name, CL_DEVICE_##NAME, kind, NULL }

const Info clsh_info_device[] = {
    OF(name, NAME, 's'),
    OF(vendor, VENDOR, 's'),
    OF(vendor_id, VENDOR_ID, 'i'),
    OF(type, TYPE, 'T'),
    OF(version, VERSION, 's'),
    {"driver_version", CL_DRIVER_VERSION, 's', NULL},
    OF(opencl_c_version, OPENCL_C_VERSION, 's'),
    OF(profile, PROFILE, 's'),
    OF(extensions, EXTENSIONS, 's'),
    OF(built_in_kernels, BUILT_IN_KERNELS, 's'),
    OF(available, AVAILABLE, 'b'),
    OF(compiler_available, COMPILER_AVAILABLE, 'b'),
    OF(linker_available, LINKER_AVAILABLE, 'b'),
    OF(endian_little, ENDIAN_LITTLE, 'b'),
    OF(error_correction_support, ERROR_CORRECTION_SUPPORT, 'b'),
    OF(address_bits, ADDRESS_BITS, 'i'),
    OF(execution_capabilities, EXECUTION_CAPABILITIES, 'E'),
    OF(queue_properties, QUEUE_PROPERTIES, 'Q'),
    OF(profiling_timer_resolution, PROFILING_TIMER_RESOLUTION, 'z'),
    /* compute */
    OF(max_compute_units, MAX_COMPUTE_UNITS, 'i'),
    OF(max_clock_frequency, MAX_CLOCK_FREQUENCY, 'i'),
    OF(max_work_group_size, MAX_WORK_GROUP_SIZE, 'z'),
    OF(max_work_item_dimensions, MAX_WORK_ITEM_DIMENSIONS, 'i'),
    OF(max_work_item_sizes, MAX_WORK_ITEM_SIZES, 'Z'),
    OF(max_parameter_size, MAX_PARAMETER_SIZE, 'z'),
    {"half_fp_config", 0x1033, 'F', "cl_khr_fp16"},
    OF(single_fp_config, SINGLE_FP_CONFIG, 'F'),
    OF(double_fp_config, DOUBLE_FP_CONFIG, 'F'),
    OF(native_vector_width_char, NATIVE_VECTOR_WIDTH_CHAR, 'i'),
    OF(native_vector_width_short, NATIVE_VECTOR_WIDTH_SHORT, 'i'),
    OF(native_vector_width_int, NATIVE_VECTOR_WIDTH_INT, 'i'),
    OF(native_vector_width_long, NATIVE_VECTOR_WIDTH_LONG, 'i'),
    OF(native_vector_width_half, NATIVE_VECTOR_WIDTH_HALF, 'i'),
    OF(native_vector_width_float, NATIVE_VECTOR_WIDTH_FLOAT, 'i'),
    OF(native_vector_width_double, NATIVE_VECTOR_WIDTH_DOUBLE, 'i'),
    OF(preferred_vector_width_char, PREFERRED_VECTOR_WIDTH_CHAR, 'i'),
    OF(preferred_vector_width_short, PREFERRED_VECTOR_WIDTH_SHORT, 'i'),
    OF(preferred_vector_width_int, PREFERRED_VECTOR_WIDTH_INT, 'i'),
    OF(preferred_vector_width_long, PREFERRED_VECTOR_WIDTH_LONG, 'i'),
    OF(preferred_vector_width_half, PREFERRED_VECTOR_WIDTH_HALF, 'i'),
    OF(preferred_vector_width_float, PREFERRED_VECTOR_WIDTH_FLOAT, 'i'),
    OF(preferred_vector_width_double, PREFERRED_VECTOR_WIDTH_DOUBLE, 'i'),
    /* memory */
    OF(global_mem_size, GLOBAL_MEM_SIZE, 'l'),
    OF(max_mem_alloc_size, MAX_MEM_ALLOC_SIZE, 'l'),
    OF(global_mem_cache_size, GLOBAL_MEM_CACHE_SIZE, 'l'),
    OF(global_mem_cache_type, GLOBAL_MEM_CACHE_TYPE, 'C'),
    OF(global_mem_cacheline_size, GLOBAL_MEM_CACHELINE_SIZE, 'i'),
    OF(host_unified_memory, HOST_UNIFIED_MEMORY, 'b'),
    OF(local_mem_size, LOCAL_MEM_SIZE, 'l'),
    OF(local_mem_type, LOCAL_MEM_TYPE, 'M'),
    OF(max_constant_buffer_size, MAX_CONSTANT_BUFFER_SIZE, 'l'),
    OF(max_constant_args, MAX_CONSTANT_ARGS, 'i'),
    OF(mem_base_addr_align, MEM_BASE_ADDR_ALIGN, 'i'),
    OF(min_data_type_align_size, MIN_DATA_TYPE_ALIGN_SIZE, 'i'),
    OF(printf_buffer_size, PRINTF_BUFFER_SIZE, 'z'),
    /* images */
    OF(image_support, IMAGE_SUPPORT, 'b'),
    OF(max_samplers, MAX_SAMPLERS, 'i'),
    OF(max_read_image_args, MAX_READ_IMAGE_ARGS, 'i'),
    OF(max_write_image_args, MAX_WRITE_IMAGE_ARGS, 'i'),
    OF(image2d_max_width, IMAGE2D_MAX_WIDTH, 'z'),
    OF(image2d_max_height, IMAGE2D_MAX_HEIGHT, 'z'),
    OF(image3d_max_width, IMAGE3D_MAX_WIDTH, 'z'),
    OF(image3d_max_height, IMAGE3D_MAX_HEIGHT, 'z'),
    OF(image3d_max_depth, IMAGE3D_MAX_DEPTH, 'z'),
    OF(image_max_buffer_size, IMAGE_MAX_BUFFER_SIZE, 'z'),
    OF(image_max_array_size, IMAGE_MAX_ARRAY_SIZE, 'z'),
    /* partitioning */
    OF(partition_max_sub_devices, PARTITION_MAX_SUB_DEVICES, 'i'),
    OF(partition_properties, PARTITION_PROPERTIES, 'Z'),
    OF(partition_affinity_domain, PARTITION_AFFINITY_DOMAIN, 'A'),
    OF(partition_type, PARTITION_TYPE, 'Z'),
    OF(preferred_interop_user_sync, PREFERRED_INTEROP_USER_SYNC, 'b'),
    OF(reference_count, REFERENCE_COUNT, 'i'),
    /* OpenCL 2.0 and 2.1 */
    {"image_pitch_alignment", 0x104A, 'i', NULL},
    {"image_base_address_alignment", 0x104B, 'i', NULL},
    {"max_read_write_image_args", 0x104C, 'i', NULL},
    {"max_global_variable_size", 0x104D, 'z', NULL},
    {"queue_on_device_properties", 0x104E, 'Q', NULL},
    {"queue_on_device_preferred_size", 0x104F, 'i', NULL},
    {"queue_on_device_max_size", 0x1050, 'i', NULL},
    {"max_on_device_queues", 0x1051, 'i', NULL},
    {"max_on_device_events", 0x1052, 'i', NULL},
    {"svm_capabilities", 0x1053, 'S', NULL},
    {"global_variable_preferred_total_size", 0x1054, 'z', NULL},
    {"max_pipe_args", 0x1055, 'i', NULL},
    {"pipe_max_active_reservations", 0x1056, 'i', NULL},
    {"pipe_max_packet_size", 0x1057, 'i', NULL},
    {"preferred_platform_atomic_alignment", 0x1058, 'i', NULL},
    {"preferred_global_atomic_alignment", 0x1059, 'i', NULL},
    {"preferred_local_atomic_alignment", 0x105A, 'i', NULL},
    {"il_version", 0x105B, 's', NULL},
    {"max_num_sub_groups", 0x105C, 'i', NULL},
    {"sub_group_independent_forward_progress", 0x105D, 'b', NULL},
    /* OpenCL 3.0 */
    {"numeric_version", 0x105E, 'v', NULL},
    {"extensions_with_version", 0x1060, 'V', NULL},
    {"ils_with_version", 0x1061, 'V', NULL},
    {"built_in_kernels_with_version", 0x1062, 'V', NULL},
    {"atomic_memory_capabilities", 0x1063, 'l', NULL},
    {"atomic_fence_capabilities", 0x1064, 'l', NULL},
    {"non_uniform_work_group_support", 0x1065, 'b', NULL},
    {"opencl_c_all_versions", 0x1066, 'V', NULL},
    {"preferred_work_group_size_multiple", 0x1067, 'z', NULL},
    {"work_group_collective_functions_support", 0x1068, 'b', NULL},
    {"generic_address_space_support", 0x1069, 'b', NULL},
    {"opencl_c_features", 0x106F, 'V', NULL},
    {"device_enqueue_capabilities", 0x1070, 'l', NULL},
    {"pipe_support", 0x1071, 'b', NULL},
    {"latest_conformance_version_passed", 0x1072, 's', NULL},
    /* cl_khr_device_uuid, cl_khr_pci_bus_info */
    {"uuid", 0x106A, 'x', "cl_khr_device_uuid"},
    {"driver_uuid", 0x106B, 'x', "cl_khr_device_uuid"},
    /* NVIDIA */
    {"nv_compute_capability_major", 0x4000, 'i', NV},
    {"nv_compute_capability_minor", 0x4001, 'i', NV},
    {"nv_registers_per_block", 0x4002, 'i', NV},
    {"nv_warp_size", 0x4003, 'i', NV},
    {"nv_gpu_overlap", 0x4004, 'b', NV},
    {"nv_kernel_exec_timeout", 0x4005, 'b', NV},
    {"nv_integrated_memory", 0x4006, 'b', NV},
    {"nv_attribute_async_engine_count", 0x4007, 'i', NV},
    {"nv_pci_bus_id", 0x4008, 'i', NV},
    {"nv_pci_slot_id", 0x4009, 'i', NV},
    {"nv_pci_domain_id", 0x400A, 'i', NV},
    /* AMD */
    {"amd_profiling_timer_offset", 0x4036, 'l', AMD},
    {"amd_board_name", 0x4038, 's', AMD},
    {"amd_global_free_memory", 0x4039, 'Z', AMD},
    {"amd_simd_per_compute_unit", 0x4040, 'i', AMD},
    {"amd_simd_width", 0x4041, 'i', AMD},
    {"amd_simd_instruction_width", 0x4042, 'i', AMD},
    {"amd_wavefront_width", 0x4043, 'i', AMD},
    {"amd_global_mem_channels", 0x4044, 'i', AMD},
    {"amd_global_mem_channel_banks", 0x4045, 'i', AMD},
    {"amd_global_mem_channel_bank_width", 0x4046, 'i', AMD},
    {"amd_local_mem_size_per_compute_unit", 0x4047, 'i', AMD},
    {"amd_local_mem_banks", 0x4048, 'i', AMD},
    {"amd_thread_trace_supported", 0x4049, 'b', AMD},
    {"amd_gfxip_major", 0x404A, 'i', AMD},
    {"amd_gfxip_minor", 0x404B, 'i', AMD},
    {"amd_available_async_queues", 0x404C, 'i', AMD},
    {"amd_preferred_work_group_size", 0x4030, 'z', AMD},
    {"amd_max_work_group_size", 0x4031, 'z', AMD},
    {"amd_preferred_constant_buffer_size", 0x4033, 'z', AMD},
    {"amd_pcie_id", 0x4034, 'i', AMD},
    {NULL, 0, 0, NULL},
};

/* The words of a set of flags or of a single value: the i-th is of bit i. */
static const struct {
  char kind;
  bool list; /* a list of words; else the first one, or "none" */
  const char *words;
} flags[] = {
    {'F', true,
     "denorm inf_nan round_to_nearest round_to_zero round_to_inf fma "
     "soft_float correctly_rounded_divide_sqrt"},
    {'Q', true, "out_of_order profiling"},
    {'E', true, "kernel native_kernel"},
    {'S', true,
     "coarse_grain_buffer fine_grain_buffer fine_grain_system atomics"},
    {'A', true, "numa l4_cache l3_cache l2_cache l1_cache next_partitionable"},
    {'C', false, "read_only read_write"},
    {'M', false, "local global"},
};

/* Pushes the words of the bits of `n`, by a kind above; false: of no kind. */
static bool pushwords(lua_State *L, char kind, cl_ulong n) {
  size_t i = 0, len;
  lua_Integer found = 0;
  while (i < sizeof flags / sizeof *flags && flags[i].kind != kind)
    i++;
  if (i == sizeof flags / sizeof *flags)
    return false;
  lua_newtable(L);
  for (const char *s = flags[i].words; *s != '\0'; s += len, n >>= 1) {
    s += *s == ' ';
    len = strcspn(s, " ");
    if ((n & 1) != 0) {
      lua_pushlstring(L, s, len);
      lua_rawseti(L, -2, ++found);
    }
  }
  if (!flags[i].list && found == 0)
    lua_pushliteral(L, "none");
  else if (!flags[i].list)
    lua_rawgeti(L, -1, 1);
  if (!flags[i].list)
    lua_remove(L, -2);
  return true;
}

static void pushtype(lua_State *L, cl_ulong bits) {
  lua_pushstring(L, bits & CL_DEVICE_TYPE_GPU           ? "gpu"
                    : bits & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator"
                    : bits & CL_DEVICE_TYPE_CPU         ? "cpu"
                                                        : "other");
}

/* cl_version: 10 bits major, 10 minor, 12 patch. */
static void pushversion(lua_State *L, cl_uint v) {
  lua_pushfstring(L, "%d.%d.%d", (int)(v >> 22), (int)(v >> 12 & 0x3ff),
                  (int)(v & 0xfff));
}

/* A list of cl_name_version: 4 bytes of version, 64 of name. */
static void pushnameversions(lua_State *L, const char *p, size_t size) {
  lua_newtable(L);
  for (size_t i = 0; (i + 1) * 68 <= size; i++, p += 68) {
    cl_uint version;
    memcpy(&version, p, sizeof version);
    lua_pushlstring(L, p + 4, strnlen(p + 4, 64));
    pushversion(L, version);
    lua_rawset(L, -3);
  }
}

/* Pushes a count; one that Lua cannot hold becomes the largest integer. */
static void pushcount(lua_State *L, cl_ulong n) {
  lua_pushinteger(L, n < LUA_MAXINTEGER ? (lua_Integer)n : LUA_MAXINTEGER);
}

static void pushsizes(lua_State *L, const char *p, size_t size) {
  lua_newtable(L);
  for (size_t i = 0; (i + 1) * sizeof(size_t) <= size; i++) {
    size_t z;
    memcpy(&z, p + i * sizeof z, sizeof z);
    pushcount(L, z);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void pushhex(lua_State *L, const unsigned char *p, size_t size) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < size; i++) {
    luaL_addchar(&b, "0123456789abcdef"[p[i] >> 4]);
    luaL_addchar(&b, "0123456789abcdef"[p[i] & 15]);
  }
  luaL_pushresult(&b);
}

/*
** Pushes a string: drivers end it with none, one or several zeros, or with
** spaces. A control character, which would steer a terminal, becomes a space.
*/
static void pushtext(lua_State *L, const char *p, size_t size) {
  size_t n = strnlen(p, size);
  while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\n'))
    n--;
  luaL_Buffer b;
  char *s = luaL_buffinitsize(L, &b, n);
  for (size_t i = 0; i < n; i++)
    s[i] = iscntrl((unsigned char)p[i]) ? ' ' : p[i];
  luaL_pushresultsize(&b, n);
}

/*
** Pushes the answer by its kind: s text, i cl_uint, l cl_ulong, z size_t,
** b boolean, Z list of size_t, x bytes as hex digits, v version, V names
** with versions, T device type, and sets of flags or single names.
*/
static void pushvalue(lua_State *L, char kind, const void *p, size_t size) {
  cl_uint word = 0;
  cl_ulong n = 0;
  if (size == sizeof word) {
    memcpy(&word, p, sizeof word);
    n = word;
  } else if (size == sizeof n) {
    memcpy(&n, p, sizeof n);
  }
  if (pushwords(L, kind, n))
    return;
  if (kind == 's')
    pushtext(L, p, size);
  else if (kind == 'T')
    pushtype(L, n);
  else if (kind == 'b')
    lua_pushboolean(L, n != 0);
  else if (kind == 'Z')
    pushsizes(L, p, size);
  else if (kind == 'x')
    pushhex(L, p, size);
  else if (kind == 'v')
    pushversion(L, (cl_uint)n);
  else if (kind == 'V')
    pushnameversions(L, p, size);
  else
    pushcount(L, n);
}

size_t clsh_info_size(size_t size) {
  return size <= MAXVALUE ? size : 0;
}

/* Pushes the driver's answer to a query, or nil without an answer. */
bool clsh_info_push(lua_State *L, Getter get, void *handle, const Info *i) {
  size_t size = 0;
  if (get(handle, i->query, 0, NULL, &size) != CL_SUCCESS ||
      clsh_info_size(size) != size) {
    lua_pushnil(L);
    return false;
  }
  char *p = lua_newuserdatauv(L, size + 16, 0);
  memset(p, 0, size + 16);
  if (get(handle, i->query, size, p, NULL) != CL_SUCCESS)
    lua_pushnil(L);
  else
    pushvalue(L, i->kind, p, size);
  lua_remove(L, -2);
  return !lua_isnil(L, -1);
}

/*
** The least that OpenCL demands of a limit of devices, for a driver that does
** not tell the limit; 0: no demand.
*/
cl_ulong clsh_info_least(cl_uint query) {
  static const struct {
    cl_device_info query;
    cl_ulong least;
  } list[] = {
      {CL_DEVICE_MAX_COMPUTE_UNITS, 1},
      {CL_DEVICE_MAX_WORK_GROUP_SIZE, 1},
      {CL_DEVICE_LOCAL_MEM_SIZE, 1 << 15},
      {CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, 1 << 16},
      {CL_DEVICE_MAX_MEM_ALLOC_SIZE, 1 << 27},
      {CL_DEVICE_GLOBAL_MEM_SIZE, 1 << 27},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].query == query)
      return list[i].least;
  return 0;
}

const Info *clsh_info_find(const Info *list, const char *name) {
  for (; list->name != NULL; list++)
    if (strcmp(list->name, name) == 0)
      return list;
  return NULL;
}
