/* SPDX-License-Identifier: MIT */
/*
 * Stands before the header of a kernel. The interface of the DRM scheduler differs even between
 * kernels that call themselves 6.1: the first of them, Debian's, and the vendor's, which has that of
 * 6.12. The module uses none of them.
 */
#error "the module is to build whatever scheduler the kernel has"
