/* Made by genwrap from configs/apis; change that file instead. All exported wrappers. */
#ifndef PROBE_GEN_WRAPPERS_H
#define PROBE_GEN_WRAPPERS_H

#include "call/wrapper.h"

struct words3 {
	uint64_t w[3];
};
WRAPPER_EXPORT int ptiny_AllReduce(const void *, void *, int, int, unsigned, handle, void *);
WRAPPER_EXPORT int ptiny_AllReduceConfig(const void *, void *, int, int, unsigned, handle, void *, const void *);
WRAPPER_EXPORT int ptiny_AllReduceConfig_c(const void *, void *, int64_t, int, unsigned, handle, void *, const void *);
WRAPPER_EXPORT int ptiny_AllReduce_c(const void *, void *, int64_t, int, unsigned, handle, void *);
WRAPPER_EXPORT uint64_t ptiny_Count(int64_t);
WRAPPER_EXPORT int ptiny_Counts(const void *, void *, const void *, int, unsigned, handle, void *);
WRAPPER_EXPORT int ptiny_Exscan(void *, void *, void *, int64_t, int, unsigned, handle);
WRAPPER_EXPORT int ptiny_Gather(const void *, uint64_t, int, void *, uint64_t, int, int, handle);
WRAPPER_EXPORT float ptiny_Gemv(int, const void *, const void *, const void *, double, const void *, int, const void *, int64_t, const void *, void *, const void *);
WRAPPER_EXPORT int8_t ptiny_GroupEnd(void);
WRAPPER_EXPORT int ptiny_GroupStart(void);
WRAPPER_EXPORT handle ptiny_Handle(handle);
WRAPPER_EXPORT int ptiny_Igather(const void *, uint64_t, int, void *, uint64_t, int, int, handle, void *);
WRAPPER_EXPORT int ptiny_Mine(void *, const void *, const void *, int, handle, void *);
WRAPPER_EXPORT void ptiny_Mix(int8_t, uint8_t, int16_t, uint16_t, unsigned, float, double, struct words3, handle, void *, void *, uint8_t);
WRAPPER_EXPORT const void *ptiny_Parent(void *);
WRAPPER_EXPORT int ptiny_Scatter(const void *, void *, uint64_t, int, int, handle);
WRAPPER_EXPORT int ptiny_Segments(const void *, const void *, const void *, int, const void *, const void *, const void *, const void *, handle, void *);
WRAPPER_EXPORT int ptiny_Send(const void *, uint64_t, int, int, handle, void *);
WRAPPER_EXPORT int ptiny_dSum(const void *, uint64_t, int, handle, void *);
WRAPPER_EXPORT int ptiny_fSum(const void *, uint64_t, int, handle, void *);
WRAPPER_EXPORT int ptinyx_AllReduce(const void *, void *, int, int, unsigned, handle, void *);
WRAPPER_EXPORT int tiny_AllReduce(const void *, void *, int, int, unsigned, handle, void *);
WRAPPER_EXPORT int tiny_AllReduceConfig(const void *, void *, int, int, unsigned, handle, void *, const void *);
WRAPPER_EXPORT int tiny_AllReduceConfig_c(const void *, void *, int64_t, int, unsigned, handle, void *, const void *);
WRAPPER_EXPORT int tiny_AllReduce_c(const void *, void *, int64_t, int, unsigned, handle, void *);
WRAPPER_EXPORT uint64_t tiny_Count(int64_t);
WRAPPER_EXPORT int tiny_Counts(const void *, void *, const void *, int, unsigned, handle, void *);
WRAPPER_EXPORT int tiny_Exscan(void *, void *, void *, int64_t, int, unsigned, handle);
WRAPPER_EXPORT int tiny_Gather(const void *, uint64_t, int, void *, uint64_t, int, int, handle);
WRAPPER_EXPORT float tiny_Gemv(int, const void *, const void *, const void *, double, const void *, int, const void *, int64_t, const void *, void *, const void *);
WRAPPER_EXPORT int8_t tiny_GroupEnd(void);
WRAPPER_EXPORT int tiny_GroupStart(void);
WRAPPER_EXPORT handle tiny_Handle(handle);
WRAPPER_EXPORT int tiny_Igather(const void *, uint64_t, int, void *, uint64_t, int, int, handle, void *);
WRAPPER_EXPORT int tiny_Mine(void *, const void *, const void *, int, handle, void *);
WRAPPER_EXPORT void tiny_Mix(int8_t, uint8_t, int16_t, uint16_t, unsigned, float, double, struct words3, handle, void *, void *, uint8_t);
WRAPPER_EXPORT const void *tiny_Parent(void *);
WRAPPER_EXPORT int tiny_Scatter(const void *, void *, uint64_t, int, int, handle);
WRAPPER_EXPORT int tiny_Segments(const void *, const void *, const void *, int, const void *, const void *, const void *, const void *, handle, void *);
WRAPPER_EXPORT int tiny_Send(const void *, uint64_t, int, int, handle, void *);
WRAPPER_EXPORT int tiny_dSum(const void *, uint64_t, int, handle, void *);
WRAPPER_EXPORT int tiny_fSum(const void *, uint64_t, int, handle, void *);
WRAPPER_EXPORT int tinyx_AllReduce(const void *, void *, int, int, unsigned, handle, void *);

#endif
