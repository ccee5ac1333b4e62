/* SPDX-License-Identifier: MIT */
/*
 * copy-tree.h - one folder's files in another place, by links where that can be.
 */
#ifndef BASE_COPY_TREE_H
#define BASE_COPY_TREE_H

/**
 * copy_tree() - gives a folder and all below it another name.
 * @from: regular files and folders; anything else in it is left out
 * @to: not there yet; its parent is
 * Return: 0 or -errno; what was made until then is there, for remove_tree().
 * Files are hard links; copies where the file system has none, or it is another one.
 */
int copy_tree(const char *from, const char *to);

/* Deletes a folder and all below it; follows no link. Return: 0, also where there is none; -errno.
 */
int remove_tree(const char *dir);

#endif
