/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kind operator_memory: a row for each block of memory that an allocator of PyTorch's gives out or takes back while calls are
 * recorded (key profile_step), with the recorded call that is in progress on that thread. Keeps nothing of a block: who reads the
 * rows pairs them by device and address.
 */
#ifndef PROBE_WRAPPERS_TORCH_BLOCK_MEMORY_H
#define PROBE_WRAPPERS_TORCH_BLOCK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define TORCH_DEVICE_CPU 0 /* c10::DeviceType::CPU */

struct block_event {
	uint64_t address;
	/* bytes: given out; negative: taken back. NaN: not known. */
	double bytes, allocated, reserved;
	uint8_t device_type; /* c10::DeviceType */
	int8_t device_index; /* -1: none */
};

bool is_block_memory_wanted(void);

/* Any thread, also with locks of the allocator held. Does nothing outside of the recorded steps, or if the kind is not wanted. */
void record_block_event(const struct block_event *e);

#endif
