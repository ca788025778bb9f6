type FileError = NodeJS.ErrnoException & { readonly code: string; readonly path: string }

/** Text with the problem and the remedy, by error code of the operating system. */
const TEXTS: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `${path} or its folder does not exist. Create it, or give another path.`,
  EACCES: denied,
  EPERM: denied,
  EROFS: (path) => `${path} is on a read-only file system. Give a path on another one.`,
  ENOSPC: (path) =>
    `${path} cannot be written: the file system is full. Free space, and run the command again.`,
  ENOTDIR: (path) => `A part of ${path} is a file and not a folder. Give another path.`,
  EISDIR: (path) => `${path} is a folder. Give the path of a file.`,
}

/**
 * Returns the text for an error of the file system; null for any other error. For a temporary file, whose name ends
 * with `.new`, the text names the file that the temporary file was to replace.
 */
export function fileErrorText(error: unknown): string | null {
  if (!isFileError(error)) return null
  return TEXTS[error.code]?.(error.path.replace(/\.new$/, '')) ?? null
}

function denied(path: string): string {
  return `This user may not access ${path}. Run the command as the owner of the folder, or give another path.`
}

function isFileError(error: unknown): error is FileError {
  if (!(error instanceof Error)) return false
  const { code, path, syscall } = error as NodeJS.ErrnoException
  // An error of `spawn` is not a file error, because its `path` is the name of the program.
  return typeof code === 'string' && typeof path === 'string' && syscall?.startsWith('spawn') !== true
}
