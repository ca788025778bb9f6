import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startProgram } from '../../../../controlplane/cli/programs/child-process.ts'

const { execPath } = process
let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'child-program-'))
})
afterEach(() => {
  process.execPath = execPath
  rmSync(dir, { recursive: true })
})

function start(source: string, signal = new AbortController().signal) {
  const file = join(dir, 'program.mjs')
  writeFileSync(file, source)
  const spec = { title: 'program', file, env: {}, logFile: join(dir, 'log') }
  return startProgram(spec, signal)
}

test('a process that cannot be created has an error and no exit code', async () => {
  process.execPath = join(dir, 'missing')
  await expect(start('')).rejects.toThrow(
    /^The program ended because it could not be created \(spawn .*missing ENOENT\) before it was ready/,
  )
})

test('the error of a program that ends before it is ready contains the end of its log', async () => {
  await expect(start('console.error("no room"); process.exitCode = 7')).rejects.toThrow(
    /ended with exit code 7 before it was ready\. Log: .*\nno room$/s,
  )
})

test('a program that reports an error rejects the start with the code of its system error', async () => {
  const fatal = 'process.send({ type: "fatal", message: "the port is in use", code: "EADDRINUSE" })'
  await expect(start(fatal)).rejects.toMatchObject({
    ...{ reason: 'fatal', systemCode: 'EADDRINUSE' },
    message: 'The program cannot start: the port is in use',
  })
})

test('an aborted start is rejected as aborted', async () => {
  const abort = new AbortController()
  const starting = start('setInterval(() => undefined, 1_000)', abort.signal)
  abort.abort()
  await expect(starting).rejects.toMatchObject({ reason: 'aborted', systemCode: null })
})

test('a message that cannot be sent to a program does not end it', async () => {
  const program = await start('process.send({ type: "ready", port: 1 }); setInterval(() => undefined, 1_000)')
  expect(program.ready).toMatchObject({ port: 1 })
  await program.stop(1_000)
  expect(await program.exited).toMatchObject({ signal: 'SIGTERM' })
})
