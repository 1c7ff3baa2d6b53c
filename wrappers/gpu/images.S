/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics kernel for GPUs (preload/device/stats.cl), as data. */
	.section .rodata
	.macro image name, file
	.globl \name
	.hidden \name
	.type \name, %object
	.balign 4096
\name:
	.incbin "\file"
	.byte 0
	.size \name, . - \name
	.endm

	image gpu_stats_ptx, preload/device/built/stats.ptx
	image gpu_stats_gfx90a, preload/device/built/stats.gfx90a.co
	image gpu_stats_gfx942, preload/device/built/stats.gfx942.co
	image gpu_stats_gfx1100, preload/device/built/stats.gfx1100.co

	.section .note.GNU-stack, "", %progbits
