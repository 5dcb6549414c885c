// SPDX-License-Identifier: GPL-2.0-only
/*
 * A source of dma-bufs for tests, see ork_exporter.h.
 *
 * Importers get tables of DMA addresses alone, so that one which looks at pages finds none.
 */

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include "ork_exporter.h"

/* Of memory. What has none behind it may pretend to be larger. */
#define EXPORTER_MAX_SIZE	SZ_64M
/* The RK3588 has its peripherals, and no memory, from 0xf0000000 to 4 GiB. */
#define EXPORTER_PERIPHERALS	0xfe000000UL

/**
 * struct exporter_buffer - a dma-buf's memory
 * @kind: what is wrong with it
 * @pages: its memory, or NULL
 * @count: how many pages
 * @lock: guards @mappings
 * @mappings: struct exporter_mapping
 */
struct exporter_buffer {
	enum ork_exporter_kind kind;
	struct page **pages;
	size_t count;
	struct mutex lock;	/* guards mappings */
	struct list_head mappings;
};

/**
 * struct exporter_mapping - a buffer mapped for a device
 * @dev: the device
 * @own: the table with pages; empty if there are none
 * @given: what the importer sees of it
 * @link: in buffer->mappings
 */
struct exporter_mapping {
	struct device *dev;
	struct sg_table own;
	struct sg_table given;
	struct list_head link;
};

static struct platform_device *exporter_device;
static atomic_t exporter_buffers = ATOMIC_INIT(0);
static atomic_t exporter_mappings = ATOMIC_INIT(0);

/* --- memory ------------------------------------------------------------------- */

static void exporter_free(struct exporter_buffer *buffer)
{
	size_t i;

	for (i = 0; buffer->pages && i < buffer->count && buffer->pages[i]; i++)
		__free_page(buffer->pages[i]);
	kvfree(buffer->pages);
	mutex_destroy(&buffer->lock);
	kfree(buffer);
	atomic_dec(&exporter_buffers);
}

/* Every other page of what the allocator gives: no two of them follow each other. */
static int exporter_fill(struct exporter_buffer *buffer)
{
	struct page *pair;
	size_t i;

	buffer->pages = kvcalloc(buffer->count, sizeof(*buffer->pages), GFP_KERNEL);
	if (!buffer->pages)
		return -ENOMEM;
	for (i = 0; i < buffer->count; i++) {
		pair = alloc_pages(GFP_KERNEL | __GFP_ZERO, 1);
		if (!pair)
			return -ENOMEM;
		split_page(pair, 1);
		__free_page(pair + 1);
		buffer->pages[i] = pair;
	}
	return 0;
}

static size_t exporter_count(enum ork_exporter_kind kind, u64 size)
{
	size_t count = PAGE_ALIGN(size) >> PAGE_SHIFT;

	switch (kind) {
	case ORK_EXPORTER_DEVICE:
		return 0;
	case ORK_EXPORTER_SHORT:
		return count - 1;
	case ORK_EXPORTER_LONG:
		return count + 1;
	default:
		return count;
	}
}

static struct exporter_buffer *exporter_create(enum ork_exporter_kind kind, u64 size)
{
	struct exporter_buffer *buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);
	int ret = 0;

	if (!buffer)
		return ERR_PTR(-ENOMEM);
	atomic_inc(&exporter_buffers);
	mutex_init(&buffer->lock);
	INIT_LIST_HEAD(&buffer->mappings);
	buffer->kind = kind;
	buffer->count = exporter_count(kind, size);
	if (buffer->count)
		ret = exporter_fill(buffer);
	if (ret) {
		exporter_free(buffer);
		return ERR_PTR(ret);
	}
	return buffer;
}

/* --- mappings ------------------------------------------------------------------ */

static void exporter_spoil(struct scatterlist *sg, enum ork_exporter_kind kind, bool last)
{
	if (kind == ORK_EXPORTER_MIXED && last)
		sg_dma_address(sg) = EXPORTER_PERIPHERALS;
	if (kind == ORK_EXPORTER_OFF_BORDER)
		sg_dma_address(sg) += PAGE_SIZE / 2;
	if (kind == ORK_EXPORTER_ODD_LENGTH)
		sg_dma_len(sg) -= PAGE_SIZE / 2;
}

/* The addresses of the table with pages, as they are or as the test wants them. */
static int exporter_give_memory(struct exporter_mapping *mapping, enum ork_exporter_kind kind)
{
	struct scatterlist *from, *to;
	unsigned int i;
	int ret;

	ret = sg_alloc_table(&mapping->given, mapping->own.nents, GFP_KERNEL);
	if (ret)
		return ret;
	to = mapping->given.sgl;
	for_each_sgtable_dma_sg(&mapping->own, from, i) {
		sg_dma_address(to) = sg_dma_address(from);
		sg_dma_len(to) = sg_dma_len(from);
		exporter_spoil(to, kind, i + 1 == mapping->own.nents);
		to = sg_next(to);
	}
	return 0;
}

static int exporter_give_device(struct exporter_mapping *mapping)
{
	int ret = sg_alloc_table(&mapping->given, 1, GFP_KERNEL);

	if (ret)
		return ret;
	sg_dma_address(mapping->given.sgl) = EXPORTER_PERIPHERALS;
	sg_dma_len(mapping->given.sgl) = PAGE_SIZE;
	return 0;
}

static int exporter_map_memory(struct exporter_buffer *buffer, struct exporter_mapping *mapping,
			       enum dma_data_direction dir)
{
	int ret;

	ret = sg_alloc_table_from_pages(&mapping->own, buffer->pages, buffer->count, 0,
					buffer->count << PAGE_SHIFT, GFP_KERNEL);
	if (ret)
		return ret;
	ret = dma_map_sgtable(mapping->dev, &mapping->own, dir, DMA_ATTR_SKIP_CPU_SYNC);
	if (ret)
		goto err_free;
	ret = exporter_give_memory(mapping, buffer->kind);
	if (!ret)
		return 0;

	dma_unmap_sgtable(mapping->dev, &mapping->own, dir, DMA_ATTR_SKIP_CPU_SYNC);
err_free:
	sg_free_table(&mapping->own);
	return ret;
}

static struct sg_table *exporter_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct exporter_buffer *buffer = attach->dmabuf->priv;
	struct exporter_mapping *mapping;
	int ret;

	if (buffer->kind == ORK_EXPORTER_FAILS)
		return ERR_PTR(-ENXIO);
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);
	if (!mapping)
		return ERR_PTR(-ENOMEM);
	mapping->dev = attach->dev;
	if (buffer->pages)
		ret = exporter_map_memory(buffer, mapping, dir);
	else
		ret = exporter_give_device(mapping);
	if (ret) {
		kfree(mapping);
		return ERR_PTR(ret);
	}

	atomic_inc(&exporter_mappings);
	mutex_lock(&buffer->lock);
	list_add(&mapping->link, &buffer->mappings);
	mutex_unlock(&buffer->lock);
	return &mapping->given;
}

static void exporter_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			   enum dma_data_direction dir)
{
	struct exporter_mapping *mapping = container_of(sgt, struct exporter_mapping, given);
	struct exporter_buffer *buffer = attach->dmabuf->priv;

	mutex_lock(&buffer->lock);
	list_del(&mapping->link);
	mutex_unlock(&buffer->lock);
	if (buffer->pages) {
		dma_unmap_sgtable(mapping->dev, &mapping->own, dir, DMA_ATTR_SKIP_CPU_SYNC);
		sg_free_table(&mapping->own);
	}
	sg_free_table(&mapping->given);
	kfree(mapping);
	atomic_dec(&exporter_mappings);
}

/* --- dma-bufs ------------------------------------------------------------------ */

static int exporter_begin_cpu_access(struct dma_buf *dma_buf, enum dma_data_direction dir)
{
	struct exporter_buffer *buffer = dma_buf->priv;
	struct exporter_mapping *mapping;

	mutex_lock(&buffer->lock);
	list_for_each_entry(mapping, &buffer->mappings, link)
		dma_sync_sgtable_for_cpu(mapping->dev, &mapping->own, dir);
	mutex_unlock(&buffer->lock);
	return 0;
}

static int exporter_end_cpu_access(struct dma_buf *dma_buf, enum dma_data_direction dir)
{
	struct exporter_buffer *buffer = dma_buf->priv;
	struct exporter_mapping *mapping;

	mutex_lock(&buffer->lock);
	list_for_each_entry(mapping, &buffer->mappings, link)
		dma_sync_sgtable_for_device(mapping->dev, &mapping->own, dir);
	mutex_unlock(&buffer->lock);
	return 0;
}

static vm_fault_t exporter_fault(struct vm_fault *fault)
{
	struct exporter_buffer *buffer = fault->vma->vm_private_data;

	if (fault->pgoff >= buffer->count)
		return VM_FAULT_SIGBUS;
	get_page(buffer->pages[fault->pgoff]);
	fault->page = buffer->pages[fault->pgoff];
	return 0;
}

static const struct vm_operations_struct exporter_vm_ops = {
	.fault = exporter_fault,
};

/* Not VM_DONTEXPAND: importers have seen exporters without. */
static int exporter_mmap(struct dma_buf *dma_buf, struct vm_area_struct *vma)
{
	vma->vm_ops = &exporter_vm_ops;
	vma->vm_private_data = dma_buf->priv;
	return 0;
}

static void exporter_release(struct dma_buf *dma_buf)
{
	exporter_free(dma_buf->priv);
}

static const struct dma_buf_ops exporter_ops = {
	.map_dma_buf = exporter_map,
	.unmap_dma_buf = exporter_unmap,
	.release = exporter_release,
	.mmap = exporter_mmap,
	.begin_cpu_access = exporter_begin_cpu_access,
	.end_cpu_access = exporter_end_cpu_access,
};

static int exporter_export(struct exporter_buffer *buffer, u64 size)
{
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
		.ops = &exporter_ops,
		.size = size,
		.flags = O_RDWR,
		.priv = buffer,
	};
	struct dma_buf *dma_buf = dma_buf_export(&info);
	int fd;

	if (IS_ERR(dma_buf)) {
		exporter_free(buffer);
		return PTR_ERR(dma_buf);
	}
	fd = dma_buf_fd(dma_buf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(dma_buf);
	return fd;
}

/* --- the node ------------------------------------------------------------------ */

static long exporter_ioctl_create(void __user *user)
{
	struct ork_exporter_create args;
	struct exporter_buffer *buffer;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	if (args.kind >= ORK_EXPORTER_KINDS)
		return -EINVAL;
	if (args.size > EXPORTER_MAX_SIZE && args.kind != ORK_EXPORTER_DEVICE)
		return -E2BIG;

	buffer = exporter_create(args.kind, args.size);
	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	args.fd = exporter_export(buffer, args.size);
	if (args.fd < 0)
		return args.fd;
	return copy_to_user(user, &args, sizeof(args)) ? -EFAULT : 0;
}

static long exporter_ioctl_live(void __user *user)
{
	struct ork_exporter_live live = {
		.buffers = atomic_read(&exporter_buffers),
		.mappings = atomic_read(&exporter_mappings),
	};

	return copy_to_user(user, &live, sizeof(live)) ? -EFAULT : 0;
}

/**
 * struct exporter_client - a foreign dma-buf that a file has attached
 * @attach: the attachment
 * @sgt: its mapping
 */
struct exporter_client {
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
};

static struct exporter_client *exporter_attach(struct dma_buf *dma_buf)
{
	struct exporter_client *client = kzalloc(sizeof(*client), GFP_KERNEL);
	void *error;

	if (!client)
		return ERR_PTR(-ENOMEM);
	client->attach = dma_buf_attach(dma_buf, &exporter_device->dev);
	if (IS_ERR(client->attach)) {
		error = client->attach;
		goto err_free;
	}
	client->sgt = dma_buf_map_attachment_unlocked(client->attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(client->sgt)) {
		error = client->sgt;
		goto err_detach;
	}
	return client;

err_detach:
	dma_buf_detach(dma_buf, client->attach);
err_free:
	kfree(client);
	return error;
}

static long exporter_ioctl_attach(struct file *file, int fd)
{
	struct exporter_client *client;
	struct dma_buf *dma_buf;

	dma_buf = dma_buf_get(fd);
	if (IS_ERR(dma_buf))
		return PTR_ERR(dma_buf);
	client = exporter_attach(dma_buf);
	if (IS_ERR(client)) {
		dma_buf_put(dma_buf);
		return PTR_ERR(client);
	}
	/* misc_open() left the device here. */
	file->private_data = client;
	return 0;
}

static long exporter_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	switch (request) {
	case ORK_EXPORTER_CREATE:
		return exporter_ioctl_create((void __user *)argument);
	case ORK_EXPORTER_LIVE:
		return exporter_ioctl_live((void __user *)argument);
	case ORK_EXPORTER_ATTACH:
		return file->private_data ? -EBUSY : exporter_ioctl_attach(file, argument);
	}
	return -ENOTTY;
}

static int exporter_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;
	return 0;
}

static int exporter_close(struct inode *inode, struct file *file)
{
	struct exporter_client *client = file->private_data;
	struct dma_buf *dma_buf;

	if (!client)
		return 0;
	dma_buf = client->attach->dmabuf;
	dma_buf_unmap_attachment_unlocked(client->attach, client->sgt, DMA_BIDIRECTIONAL);
	dma_buf_detach(dma_buf, client->attach);
	dma_buf_put(dma_buf);
	kfree(client);
	return 0;
}

static const struct file_operations exporter_fops = {
	.owner = THIS_MODULE,
	.open = exporter_open,
	.release = exporter_close,
	.unlocked_ioctl = exporter_ioctl,
};

static struct miscdevice exporter_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ork-exporter",
	.fops = &exporter_fops,
	.mode = 0600,
};

static int __init exporter_init(void)
{
	int ret;

	exporter_device = platform_device_register_simple("ork-exporter", PLATFORM_DEVID_NONE, NULL,
							  0);
	if (IS_ERR(exporter_device))
		return PTR_ERR(exporter_device);
	ret = dma_coerce_mask_and_coherent(&exporter_device->dev, DMA_BIT_MASK(64));
	if (!ret)
		ret = misc_register(&exporter_misc);
	if (ret)
		platform_device_unregister(exporter_device);
	return ret;
}
module_init(exporter_init);

static void __exit exporter_exit(void)
{
	misc_deregister(&exporter_misc);
	platform_device_unregister(exporter_device);
}
module_exit(exporter_exit);

MODULE_DESCRIPTION("Source of dma-bufs for tests of the ork driver");
MODULE_LICENSE("GPL");
/* MODULE_IMPORT_NS(), whose argument has quotes in some kernels and none in others. */
MODULE_INFO(import_ns, "DMA_BUF");
