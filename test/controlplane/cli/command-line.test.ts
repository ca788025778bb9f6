import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from '../../../controlplane/cli/cli.ts'
import { acknowledgement, hostedLines } from '../../../controlplane/cli/commands/kill.ts'
import { trafficLine } from '../../../controlplane/cli/commands/traffic.ts'
import { COMMANDS as COMMANDS_BY_NAME } from '../../../controlplane/cli/commands.ts'
import { dataFolder, ensureSecret, prepareDataFolder } from '../../../controlplane/cli/state/data-folder.ts'
import { fileErrorText } from '../../../controlplane/cli/terminal/file-error.ts'
import { shellQuote } from '../../../controlplane/cli/terminal/shell-quote.ts'
import { printable } from '../../../controlplane/cli/terminal/table.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-cli-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

async function cli(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    print: (line: string) => out.push(line),
    warn: (line: string) => err.push(line),
    isInteractive: false,
  }
  const code = await runCli(args, {
    env,
    cwd: root,
    terminal: { ...terminal, print: (l) => void out.push(l), warn: (l) => void err.push(l) },
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

const COMMANDS = [
  ...[
    'up',
    'run',
    'status',
    'explain',
    'traffic',
    'approvals',
    'login',
    'logout',
    'owner-link',
    'user',
    'kill',
    'agent',
    'credential',
    'settings',
    'audit',
    'keys',
    'apply',
    'get',
    'export',
    'import',
    'policy',
    'migrate',
  ],
  ...[
    'inject',
    'catalogue',
    'backup',
    'restore',
    'trust',
    'doctor',
    'logs',
    'demo',
    'completion',
    'cluster-setup',
  ],
]

describe('the command line', () => {
  it('reports a response that another version of the control plane sends', async () => {
    const other = createServer((_request, response) => response.end('{"objects":[{"kind":7}]}'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const env = { CHAPERONE_URL: `http://127.0.0.1:${port}`, CHAPERONE_TOKEN: 'x' }
    const { code, err } = await cli(['agent', 'list'], env)
    other.close()
    expect(code).toBe(1)
    expect(err).toMatch(
      /cannot read the response \(agents: .+\)\.\n.*older or a newer version.*chaperone up$/,
    )
  })

  it('reports a missing manifests folder, and how to create it', async () => {
    const data = dataFolder(join(root, 'data'))
    const manifests = join(root, 'gone')
    mkdirSync(data.root)
    const addresses = { base_url: 'http://127.0.0.1:9', gateway_url: null, gateway_port: null }
    const files = { ca_file: '/ca.crt', ca_bundle_file: '/bundle.crt', manifests }
    const started = { pid: process.pid, started_at: new Date().toISOString() }
    writeFileSync(data.run, JSON.stringify({ ...addresses, ...files, ...started }))
    writeFileSync(join(data.root, 'admin.token'), 'x')
    writeFileSync(
      join(root, 'new.yaml'),
      'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: {}\n',
    )
    const { code, err } = await cli(['apply', '--data', data.root, '-f', 'new.yaml'])
    expect([code, err]).toEqual([
      1,
      `chaperone: The manifests folder ${manifests} does not exist. Create it: mkdir ${manifests}`,
    ])
  })

  it.each([
    [
      'a condition that does not compile',
      `rules: [{ name: no, conditions: ['action.efect == "write"'], decision: deny }]`,
      /^p\.yaml: Policy no-delete: spec\.rules\[0\]\.conditions\[0\]: .*no field "efect" \(did you mean effect\?\)/,
    ],
    [
      'a test that fails',
      'rules: [{ name: no, decision: deny }]\n  tests: [{ name: t, action: { type: codehost.repo.delete, resource: { provider: codehost } }, expect: { outcome: allow } }]',
      /^p\.yaml: Policy no-delete: the test "t" fails: expected allow/,
    ],
    [
      'an unknown field',
      'rules: [{ name: no, decison: deny, decision: deny }]',
      /^p\.yaml:6: unknown field spec\.rules\[0\]\.decison; did you mean decision\?/,
    ],
  ])('refuses to apply a policy with %s, because it would deny its scope', async (_what, rules, problem) => {
    const file = join(root, 'p.yaml')
    writeFileSync(
      file,
      `apiVersion: chaperone.dev/v1alpha1\nkind: Policy\nmetadata: { name: no-delete }\nspec:\n  scope: { actions: [codehost.repo.delete] }\n  ${rules}\n`,
    )
    for (const args of [[], ['--dry-run']]) {
      const { code, out, err } = await cli(['apply', '-f', file, ...args])
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(problem)
      expect(err).toMatch(/chaperone: Nothing was changed\.$/)
    }
  })

  it.each([...COMMANDS_BY_NAME])('registers %s under the name of its command', async (name, load) => {
    expect((await load()).name).toBe(name)
  })

  it.each(COMMANDS)('explains %s with a usage, options and an example', async (name) => {
    const { code, out } = await cli([name, '--help'])
    expect(code).toBe(0)
    expect(out).toContain(`chaperone ${name}`)
    expect(out).toMatch(/Usage:[\s\S]*Options:[\s\S]*--data DIR[\s\S]*Examples:/)
  })

  it('lists every command with a summary of one line', async () => {
    const { code, out } = await cli(['--help'])
    expect(code).toBe(0)
    const listed = [...out.matchAll(/^ {2}([a-z-]+) {2,}\w/gm)].map(([, name]) => name)
    expect(listed.filter((name) => name !== 'chaperone')).toEqual(COMMANDS)
    expect(out).toContain('Exit codes: 0 success, 1 refused or a failed check, 2 wrong usage, 3 unreachable')
  })

  // `kill on agent:dev` must not activate the kill switch for all because the extra argument is ignored.
  it.each([
    [['kill', 'on', 'agent:dev'], 'agent:dev', 'kill on [--scope SCOPE]'],
    [['kill', 'off', 'agent:dev'], 'agent:dev', 'kill off [--scope SCOPE]'],
    [['agent', 'suspend', 'one', 'two'], 'two', 'agent suspend|activate|revoke|rotate NAME'],
    [['approvals', 'approve', 'apv_1', 'apv_2'], 'apv_2', 'approvals approve|deny ID'],
    [['explain', 'GET', 'https://api.github.com/user', 'dev'], 'dev', '--agent NAME'],
    [['get', 'agents', 'dev'], 'dev', 'get gateways|connectors'],
    [['status', 'gateway'], 'gateway', 'chaperone status'],
    [['traffic', 'dev'], 'dev', '--agent A'],
    [['doctor', 'gateway'], 'gateway', 'chaperone doctor'],
    [['logs', 'gateway', 'postgres'], 'postgres', 'logs [control-plane|'],
    [['up', 'here'], 'here', 'up [--data DIR]'],
    [['demo', 'yes'], 'yes', 'demo [--yes]'],
  ])('rejects an extra argument, names it and prints the usage: %j', async (args, word, usage) => {
    const { code, out, err } = await cli(args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(`${word} is not expected`)
    expect(err).toContain(usage)
  })

  it('prints the origin of each object', async () => {
    const origin = (from: string, file: string | null = null, commit: string | null = null) => ({
      ...{
        managed_by: file === null ? null : 'kubernetes Policy team/prod',
        source: file === null ? 'api' : 'kubernetes',
      },
      origin: { from, file, commit, deployed_by: null },
    })
    const policies = [
      { name: 'default-allow-safe', ...origin('built_in') },
      { name: 'mine', ...origin('command_line') },
      {
        name: 'team/prod',
        ...origin('manifest', 'rules/prod.yaml', '0123456789abcdef0123456789abcdef01234567'),
      },
    ]
    const other = createServer((_request, response) => response.end(JSON.stringify({ policies })))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const env = { CHAPERONE_URL: `http://127.0.0.1:${port}`, CHAPERONE_TOKEN: 'x' }
    const { code, out } = await cli(['get', 'policies'], env)
    other.close()
    expect(code).toBe(0)
    expect(out).toMatch(/default-allow-safe.*built in/)
    expect(out).toMatch(/mine.*command line/)
    expect(out).toMatch(/team\/prod.*rules\/prod\.yaml@0123456789ab\b/)
    expect(out).not.toMatch(/\bapi\b/)
  })

  it('lists the kinds when none is given', async () => {
    const { code, err } = await cli(['get'])
    expect(code).toBe(2)
    expect(err).toContain('Give one of gateways, connectors, permissions, policies, agents, manifests.')
  })

  it('suggests the nearest command and option, with exit code 2', async () => {
    expect(await cli(['stauts'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Did you mean: chaperone status'),
    })
    expect(await cli(['up', '--gateway-prot', '1'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--gateway-port'),
    })
    expect(await cli(['up', '--port', '70000'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('70000'),
    })
    expect(await cli(['up', '--port'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('needs a value'),
    })
  })

  it.each([
    ['status'],
    ['get', 'agents'],
    ['kill', 'status'],
    ['traffic'],
    ['approvals', 'ls'],
    ['agent', 'list'],
    ['run', '--', 'true'],
    ['explain', 'GET', 'https://api.github.com/user'],
  ])('exits with 3 and prints how to start Chaperone when nothing runs: %s %s', async (...args) => {
    const { code, err } = await cli(args)
    expect(code).toBe(3)
    expect(err).toContain('chaperone up --data')
  })

  it('exits with 3 when the control plane does not answer', async () => {
    const { code, err } = await cli(['get', 'agents'], {
      CHAPERONE_URL: 'http://127.0.0.1:1',
      CHAPERONE_TOKEN: 'x',
    })
    expect(code).toBe(3)
    expect(err).toContain('http://127.0.0.1:1')
  })

  it('rejects a data folder that is not writable, and says what to change', async () => {
    writeFileSync(join(root, 'file'), '')
    const { code, err } = await cli(['up', '--data', join(root, 'file', 'data')])
    expect(code).toBe(1)
    expect(err).toMatch(/cannot be used \(ENOTDIR\)[\s\S]*--data/)
  })

  it('creates a key once, readable by its owner only', async () => {
    const folder = dataFolder(join(root, 'data'))
    prepareDataFolder(folder)
    expect(ensureSecret(folder.masterKey, () => 'first')).toEqual({ value: 'first', isNew: true })
    expect(ensureSecret(folder.masterKey, () => 'second')).toEqual({ value: 'first', isNew: false })
    const { statSync } = await import('node:fs')
    expect(statSync(folder.masterKey).mode & 0o777).toBe(0o600)
    expect(statSync(folder.keys).mode & 0o777).toBe(0o700)
  })
})

describe('output', () => {
  it('shows traffic as time, agent, action, decision, milliseconds and note', () => {
    const record = {
      id: 'rec_1',
      time: '2026-01-01T00:00:00Z',
      decision: 'ALLOW' as const,
      latency_ms: 12.4,
      agent: 'dev',
      action_type: 'codehost.pr.merge',
      note: 'approved',
    }
    expect(trafficLine(record)).toBe('2026-01-01T00:00:00Z dev codehost.pr.merge ALLOW 12ms (approved)')
    const instance = { pod: 'team/warm-1', pod_uid: 'u', sandbox: 'team/warm-1', claim: 'team/alice' }
    expect(trafficLine({ ...record, instance })).toContain(
      ' dev (SandboxClaim team/alice) codehost.pr.merge ',
    )
    expect(trafficLine({ ...record, instance: { pod: 'team/web-1', pod_uid: 'u' } })).toContain(
      ' dev (Pod team/web-1) ',
    )
  })

  it('counts the gateways that acknowledged the kill switch', () => {
    const state = { effective: [] }
    expect(acknowledgement({ ...state, acknowledged: { acked: 37, total: 37, ms: 84 } }, true, 90)).toBe(
      'Kill switch active: 37 of 37 gateways acknowledged in 84 ms',
    )
    expect(acknowledgement({ ...state, acknowledged: { acked: 4, total: 5, ms: 20 } }, true, 90)).toMatch(
      /^Kill switch active: 4 of 5 gateways acknowledged in 20 ms\. Not acknowledged: 1\./,
    )
  })

  it('lists the work at providers that a kill switch cancelled, and the work that it did not cancel', () => {
    const rest = {
      agent: 'dev',
      connector: 'default/llm-a',
      status: 200,
      scope: 'all',
      at: '2026-01-01T00:00:00Z',
    }
    const work = {
      cancelled: [{ ...rest, kind: 'response', id: 'resp_1', outcome: 'cancelled' as const }],
      not_cancelled: [
        { ...rest, kind: 'batch', id: 'batch_1', outcome: 'left' as const, detail: 'Not set.' },
      ],
      ...{ pending: 0, omitted: 0, note: 'Limits of the list.' },
    }
    expect(hostedLines({ effective: [], hosted_work: work })).toEqual([
      'Work of agents at providers: 1 cancelled, 1 not cancelled',
      '  cancelled: response resp_1 of dev',
      '  not cancelled: batch batch_1 of dev. Not set.',
      'Limits of the list.',
    ])
  })

  it('escapes control characters in text of agents', () => {
    expect(printable('a\u001b[2Jb\u202ec')).toBe('a\\u001b[2Jb\\u202ec')
  })

  it('quotes a path with spaces for the shell', () => {
    expect(shellQuote("/a b/it's")).toBe(`'/a b/it'\\''s'`)
    expect(shellQuote('/plain/ca.crt')).toBe('/plain/ca.crt')
  })
})

describe('errors of the file system and the version', () => {
  it('prints the version of the package, and nothing else', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'))
    expect(version).toMatch(/^\d+\.\d+\.\d+$/)
    expect(await cli(['--version'])).toEqual({ code: 0, out: version, err: '' })
  })

  it.each([
    ['ENOENT', 'open', 'or its folder does not exist. Create it'],
    ['EACCES', 'open', 'This user may not access'],
    ['ENOSPC', 'write', 'the file system is full'],
  ])(
    'states %s of a %s in one sentence with the path and the step, without a stack',
    (code, syscall, expected) => {
      const error = Object.assign(new Error(`${code}: reason, ${syscall}`), {
        code,
        syscall,
        path: '/data/x.new',
      })
      const text = fileErrorText(error)
      expect(text).toContain(expected)
      expect(text).toContain('/data/x')
      expect(text).not.toContain('.new')
      expect(text).not.toContain(code)
    },
  )

  it('leaves errors of programs and of the network to their own texts', () => {
    const spawn = Object.assign(new Error('spawn git ENOENT'), {
      code: 'ENOENT',
      syscall: 'spawn git',
      path: 'git',
    })
    expect(fileErrorText(spawn)).toBeNull()
    expect(fileErrorText(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))).toBeNull()
    expect(fileErrorText(new Error('x'))).toBeNull()
  })
})

describe('a governed command', () => {
  const MODULE = new URL('../../../controlplane/cli/run/spawn-command.ts', import.meta.url).href
  const spawnCommand = (command: string, args: readonly string[]) =>
    spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `const { spawnCommand } = await import(${JSON.stringify(MODULE)})
      process.exitCode = await spawnCommand(${JSON.stringify(command)}, ${JSON.stringify(args)}, process.env)`,
    ])

  it('inherits standard input and output, and its exit code is returned', async () => {
    const child = spawnCommand('sh', ['-c', 'read line; echo "got $line"; exit 7'])
    child.stdin.end('hello\n')
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer]
    expect(String(chunk)).toBe('got hello\n')
    expect(await once(child, 'exit')).toEqual([7, null])
  })

  it('receives SIGTERM, and an end by a signal gives the exit code 128 plus the number', async () => {
    const child = spawnCommand('sh', ['-c', 'echo ready; while :; do sleep 0.05; done'])
    await once(child.stdout, 'data')
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([143, null])
  })

  it('gives the exit code 127 when there is no such command', async () => {
    const child = spawnCommand('no-such-command-here', [])
    const [chunk] = (await once(child.stderr, 'data')) as [Buffer]
    expect(String(chunk)).toContain('no-such-command-here')
    expect(await once(child, 'exit')).toEqual([127, null])
  })
})
