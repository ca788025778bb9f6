import { COMPILE_CACHE } from '../../controlplane/cli/compile-cache.ts'

/** What every program of ours that a test starts has, and nothing of the test's own. Compiling it is half of its start. */
export const PROGRAM_ENV = { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: COMPILE_CACHE } as const
