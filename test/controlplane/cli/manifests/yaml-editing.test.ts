import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCli } from '../../../../controlplane/cli/cli.ts'
import { createClient } from '../../../../controlplane/cli/client/client.ts'
import { manifestsIn } from '../../bundle/folder.ts'
import { startTestInstallation, type TestInstallation } from '../../routes/installation.ts'

let here: TestInstallation
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chaperone-yaml-'))
  here = await startTestInstallation({ DASHBOARD_EDITING: 'yaml' })
})
afterAll(async () => {
  await here?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

async function cli(...args: readonly string[]) {
  const out: string[] = []
  const err: string[] = []
  const env = { HOME: folder, CHAPERONE_URL: here.plane.url, CHAPERONE_TOKEN: here.adminToken }
  const terminal = {
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
    isInteractive: false,
  }
  const code = await runCli(args, { env, cwd: folder, terminal })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

describe('the command line where objects are edited in YAML', () => {
  test('prints the manifest instead of an edit', async () => {
    const api = createClient(here.plane.url, here.adminToken, 'control plane')
    const rule = { connector_type: 'generic', action_pattern: 'generic.*', decision: 'deny' }
    const edit = api.call('POST', '/api/dashboard/permissions', { ...rule, gateway_name: 'local' })
    const text = await edit.catch((error: Error) => error.message)
    expect(text).toMatch(/^Edited in YAML: .*Commit the manifest: Permission default\/local\./)
    const [manifest, ...others] = manifestsIn(String(text).slice(String(text).indexOf('---\n')))
    expect([manifest?.kind, others]).toEqual(['Permission', []])
    expect(await here.sql('select * from permissions')).toEqual([])
  })

  test.each([
    ['agent', 'create', 'newcomer'],
    ['kill', 'on', '--scope', 'agent:newcomer', '--reason', 'test'],
    ['kill', 'off', '--scope', 'agent:newcomer'],
    ['agent', 'suspend', 'newcomer'],
    ['get', 'policies'],
    ['export'],
  ])('still runs commands that edit none of the four kinds: %s %s', async (...args) => {
    const { code, err } = await cli(...args.filter((arg) => arg !== undefined))
    expect([code, err]).toEqual([0, expect.not.stringContaining('Edited in YAML')])
  })

  test('prints on standard error what an export cannot express, and exits with 1', async () => {
    const broken = 'rules: [{ name: a, conditions: ["action.efect == 1"], decision: deny }]\n'
    await here.sql(
      "update policies set origin = 'dashboard', policy_yaml = $1, active_yaml = $1 where name = 'default-allow-safe'",
      [broken],
    )
    const { code, out, err } = await cli('export')
    expect(code).toBe(1)
    expect(err).toMatch(/^Refused when applied: Policy default\/default-allow-safe: .*efect/)
    expect(manifestsIn(out).map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Gateway local',
      'Policy default-allow-safe',
    ])
  })
})
