import { afterAll, afterEach, vi } from 'vitest'
import { readProcessState, restoreProcessState } from './process-state.ts'

/**
 * Set-up of every test file. The test files of a worker share its process (`isolate: false`): a test that fails before it
 * restores a clock or a function would make the files after it fail. Ends fake timers and spies after each test. Fails a file
 * that leaves the state of the process changed, and restores what later files read.
 */
const before = readProcessState()

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})
afterAll(() => {
  const changed = restoreProcessState(before)
  if (changed.length > 0)
    throw new Error(`The test file changed the state of its worker: ${changed.join(', ')}.`)
})
