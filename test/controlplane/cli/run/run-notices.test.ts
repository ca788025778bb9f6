import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandRuntime } from '../../../../controlplane/cli/run/command-runtime.ts'
import { bypassNotice, limitNotice } from '../../../../controlplane/cli/run/run-notices.ts'

let dir: string
const program = (name: string, text: string) => {
  writeFileSync(join(dir, name), text)
  chmodSync(join(dir, name), 0o755)
}
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-runtime-'))
  program('node', '#!/bin/sh\necho v22.1.0\n')
  program('python3.12', '\x7fELF')
  program('java', '\x7fELF')
  program('tool', '\x7fELF')
  program('gemini.js', '#!/usr/bin/env node\nx')
  program('with-flags', '#!/usr/bin/env -S NODE_ENV=x node --no-warnings\n')
  program('aider', '#!/home/me/.venv/bin/python3\n')
  program('windows', '#!/usr/bin/env node\r\n')
  program('empty', '')
  program('half', '#!')
  symlinkSync(join(dir, 'gemini.js'), join(dir, 'gemini'))
  symlinkSync(join(dir, 'python3.12'), join(dir, 'python'))
  writeFileSync(join(dir, 'not-executable'), '#!/usr/bin/env node\n')
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const env = (more: Record<string, string> = {}) => ({ PATH: `/nonexistent:${dir}`, ...more })

test.each([
  ['node', 'node'],
  ['gemini', 'node'],
  ['gemini.js', 'node'],
  ['with-flags', 'node'],
  ['windows', 'node'],
  ['aider', 'python3'],
  ['python', 'python3'],
  ['java', 'java'],
  ['tool', 'tool'],
  ['empty', 'empty'],
  ['half', 'half'],
  ['not-executable', null],
  ['missing', null],
  ['', null],
])('%o runs on %o', (command, runtime) => {
  expect(commandRuntime(command, env())).toBe(runtime)
})

test('a command may be a path, and PATH may be missing', () => {
  expect(commandRuntime(join(dir, 'gemini'), {})).toBe('node')
  expect(commandRuntime('gemini', {})).toBeNull()
})

test('reports in one line which clients of the runtime are not governed', () => {
  expect(limitNotice('gemini', env())).toMatch(/Not governed with node: UDP, native addons.*use --capture/)
  expect(limitNotice('aider', env())).toContain('Not governed with python3: aiohttp, stripe.')
  for (const command of ['tool', 'missing']) expect(limitNotice(command, env())).not.toContain('Not governed')
  for (const command of ['gemini', 'aider', 'tool']) expect(limitNotice(command, env())).not.toContain('\n')
})

test('reports a Node that is older than the preload supports', () => {
  program('node', '#!/bin/sh\necho v16.20.2\n')
  expect(limitNotice('gemini', env())).toContain(
    'v16.20.2 is too old for the preload script of chaperone run',
  )
})

test('reports a program that bypassed the gateway, and the address', () => {
  const seen = { program: 'python3', pid: 7, address: '2001:db8::1', port: 443 }
  expect(bypassNotice(seen)).toContain(
    'python3 (pid 7) has connected to [2001:db8::1]:443 without the gateway',
  )
  expect(bypassNotice(seen)).toContain('chaperone run --capture')
})
