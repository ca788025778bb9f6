import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCli } from '../../../controlplane/cli/cli.ts'

/** Data folder that every user can write to: a command that reads it fails with the exit code 1. */
let folder: string
beforeAll(() => {
  const root = mkdtempSync(join(tmpdir(), 'chaperone-arguments-'))
  folder = join(root, 'open')
  mkdirSync(folder)
  chmodSync(folder, 0o777)
})
afterAll(() => rmSync(join(folder, '..'), { recursive: true, force: true }))

async function cli(...args: readonly string[]) {
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  const terminal = { print, warn: print, isInteractive: false }
  const code = await runCli(args, { env: { CHAPERONE_DATA: folder, HOME: folder }, cwd: '/', terminal })
  return { code, text: lines.join('\n') }
}

const WRONG: ReadonlyArray<readonly [args: readonly string[], problem: string]> = [
  [['agent'], 'Give one of create, list, suspend'],
  [['agent', 'delete', 'triage'], 'agent delete is not one of create, list'],
  [['agent', 'suspend'], 'Give NAME: chaperone agent suspend NAME.'],
  [['agent', 'list', 'triage'], 'The argument triage is not expected.'],
  [['agent', 'create', 'bad name!'], 'bad name! can contain only letters'],
  [['approvals', 'accept', 'apv_1'], 'approvals accept is not one of ls, watch, approve'],
  [['approvals', 'approve'], 'Give ID: chaperone approvals approve ID.'],
  [['approvals', 'revoke'], 'Give GRANT: chaperone approvals revoke GRANT.'],
  [['approvals', 'ls', 'apv_1'], 'The argument apv_1 is not expected.'],
  [['approvals', 'approve', 'apv_1', '--for', '2h'], '--for must be one of 15m, 1h, today'],
  [['approvals', 'approve', 'apv_1', '--uses', '3'], 'Add --for, such as --for 1h.'],
  [['approvals', 'deny', 'apv_1', '--for', '1h'], '--for can be used only with approve.'],
  [['audit'], 'Give one of export.'],
  [['audit', 'print'], 'audit print is not one of export.'],
  [['audit', 'export', '--from', 'yesterday'], '--from yesterday is not a time with its zone'],
  [['audit', 'export', '--to', '2026-13-01'], '--to 2026-13-01T00:00:00Z is not a time'],
  [['credential', 'add', 'codehost'], 'credential add is not one of set, ls, test'],
  [['credential', 'set'], 'Give NAME: chaperone credential set NAME.'],
  [['credential', 'rm', 'a b'], 'a b can contain only letters'],
  [
    ['explain', 'GET', 'https://api.github.com/user', '--header', 'accept'],
    '--header accept is not NAME: VALUE.',
  ],
  [['keys', 'renew'], 'keys renew is not one of status, rotate.'],
  [['kill'], 'Give one of on, off, status.'],
  [['kill', 'of'], 'kill of is not one of on, off, status.'],
  [['kill', 'on', '--scope', 'team:red'], '--scope team:red must be all, connector:NAME'],
  [['logs', '--lines', 'all'], '--lines must be a whole number.'],
  [['run', '--capture', '--allow-local', 'http', '--', 'true'], '--allow-local http is not a port.'],
  [['run', '--allow-local', '5432', '--', 'true'], '--allow-local requires --capture.'],
  [['settings', 'set', 'gateway_url', 'example'], 'gateway_url example is not a URL'],
  [['settings', 'unset', 'gateway_url', 'x'], 'The argument x is not expected.'],
  [['traffic', '--decision', 'MAYBE'], '--decision MAYBE is not ALLOW, HOLD or DENY.'],
  [['traffic', '--from', 'yesterday'], '--from yesterday is not a time with its zone'],
  [['up', '--approvals', 'none'], '--approvals none is neither session nor token.'],
  [['up', '--port', '70000'], '--port 70000 is not a port.'],
  [['user', 'invite'], 'Give EMAIL: chaperone user invite EMAIL.'],
  [['user', 'invite', 'nonsense'], 'nonsense is not an e-mail address.'],
  [['user', 'invite', 'ada@example.com', '--role', 'boss'], '--role boss is not one of viewer, member'],
  [['user', 'list', 'ada@example.com'], 'The argument ada@example.com is not expected.'],
  [['user', 'reset-password', 'nonsense'], 'nonsense is not an e-mail address.'],
]

test.each(WRONG)('checks arguments before it reads the installation: %j', async (args, problem) => {
  expect(await cli(...args)).toEqual({ code: 2, text: expect.stringContaining(problem) })
})

test.each([
  [['agent', 'ls']],
  [['approvals', 'list']],
  [['credential']],
  [['traffic', '--decision', 'deny', '--from', '2026-11-01T08:00:00Z']],
  [['user', 'invite', 'ada@example.com', '--role', 'member']],
])('reads the installation after correct arguments: %j', async (args) => {
  expect(await cli(...args)).toEqual({ code: 1, text: expect.stringContaining(folder) })
})
