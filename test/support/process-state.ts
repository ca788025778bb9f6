import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** State of the process that all test files of a worker share. */
export type ProcessState = ReadonlyMap<string, unknown>

/** Objects of which a test can replace a function, by their names. */
const OBJECTS: Readonly<Record<string, object>> = {
  Date,
  JSON,
  Math,
  fs,
  globalThis,
  performance,
  'process.stderr': process.stderr,
  'process.stdout': process.stdout,
}
/** Globals that vitest replaces for every test file. */
const OF_VITEST = /^__vite/
/** Functions that graceful-fs, a part of Playwright, replaces when it is loaded. */
const OF_LIBRARIES = new Set(['fs.close', 'fs.closeSync'])
const LISTENED = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR2', 'uncaughtException', 'unhandledRejection']

/** Reads the state. The names are those of the messages of `restoreProcessState`. */
export function readProcessState(): ProcessState {
  const state = new Map<string, unknown>([
    ['working directory', process.cwd()],
    ['umask', process.umask()],
    ['process.execPath', process.execPath],
    ['process.stdin', Object.getOwnPropertyDescriptor(process, 'stdin')?.get],
  ])
  for (const [name, value] of Object.entries(process.env)) state.set(`process.env.${name}`, value)
  for (const event of LISTENED) state.set(`listeners of ${event}`, process.listenerCount(event))
  for (const [name, object] of Object.entries(OBJECTS)) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(object)))
      if (isWatched(`${name}.${key}`, key, value)) state.set(`${name}.${key}`, value)
  }
  return state
}

function isWatched(name: string, key: string, value: unknown): boolean {
  return typeof value === 'function' && !OF_VITEST.test(key) && !OF_LIBRARIES.has(name)
}

/** Restores the state. Returns the names of what had changed. */
export function restoreProcessState(before: ProcessState): readonly string[] {
  const now = readProcessState()
  const names = new Set([...before.keys(), ...now.keys()])
  const changed = [...names].filter(
    (name) => before.get(name) !== now.get(name) && !isNewGlobal(name, before),
  )
  for (const name of changed) restore(name, before.get(name))
  syncBuiltinESMExports()
  return changed
}

/** A library may define a global when it is loaded. */
function isNewGlobal(name: string, before: ProcessState): boolean {
  return name.startsWith('globalThis.') && !before.has(name)
}

function restore(name: string, value: unknown): void {
  if (name === 'working directory') process.chdir(String(value))
  if (name === 'umask') process.umask(Number(value))
  if (name === 'process.execPath') process.execPath = String(value)
  const end = name.lastIndexOf('.')
  const key = name.slice(end + 1)
  const object = name.startsWith('process.env.') ? process.env : OBJECTS[name.slice(0, Math.max(0, end))]
  if (object === undefined) return
  if (value === undefined) Reflect.deleteProperty(object, key)
  else Reflect.set(object, key, value)
}
