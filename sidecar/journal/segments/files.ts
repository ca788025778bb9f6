import * as fs from 'node:fs'
import { dirname } from 'node:path'

/** System calls that the journal uses. Tests record their order, inject failures and simulate a power loss. */
export type JournalFiles = {
  openSync(path: string, flags: string, mode?: number): number
  closeSync(fd: number): void
  writeSync(fd: number, bytes: Buffer): number
  sizeOf(fd: number): number
  ftruncateSync(fd: number, bytes: number): void
  fsyncSync(fd: number): void
  fsync(fd: number, done: (error: Error | null) => void): void
  fdatasync(fd: number, done: (error: Error | null) => void): void
  rmSync(path: string): void
}

export const SYSTEM_FILES: JournalFiles = {
  openSync: fs.openSync,
  closeSync: fs.closeSync,
  writeSync: (fd, bytes) => fs.writeSync(fd, bytes),
  sizeOf(fd) {
    const stat = fs.fstatSync(fd)
    return stat.isFile() ? stat.size : 0
  },
  ftruncateSync: fs.ftruncateSync,
  fsyncSync: fs.fsyncSync,
  fsync: fs.fsync,
  fdatasync: fs.fdatasync,
  rmSync: (path) => fs.rmSync(path, { force: true }),
}

/**
 * Flushes the folder and its parent: a new file survives a power loss only once its folder is flushed, and a new
 * folder once its parent is.
 */
export async function syncFolders(files: JournalFiles, dir: string): Promise<void> {
  for (const path of [dir, dirname(dir)]) {
    const fd = files.openSync(path, 'r')
    try {
      await new Promise<void>((resolve, reject) => {
        files.fsync(fd, (error) => (error === null ? resolve() : reject(error)))
      })
    } finally {
      files.closeSync(fd)
    }
  }
}

export function syncFoldersNow(files: JournalFiles, dir: string): void {
  for (const path of [dir, dirname(dir)]) {
    const fd = files.openSync(path, 'r')
    try {
      files.fsyncSync(fd)
    } finally {
      files.closeSync(fd)
    }
  }
}
