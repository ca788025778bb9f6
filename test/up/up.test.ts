import { execFile, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { tryCommand } from '../../controlplane/cli/up/try-command.ts'
import { seedCluster } from '../support/cluster-template.ts'
import { eventually } from '../support/eventually.ts'
import { databasesFolder } from '../support/memory-folder.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { size } from '../support/proof.ts'
import { type CommandResult, commandEnv, runCommand } from '../support/run-command.ts'
import { workerPostgres } from '../support/worker-postgres.ts'
import {
  CLI,
  processesOf,
  processTexts,
  type Started,
  stop,
  untilNoProcess,
  up,
  upEnds,
} from './installation-process.ts'

const run = promisify(execFile)
const started: Started[] = []
let root: string
let data: string

function makeFolder(): void {
  root = mkdtempSync(join(databasesFolder(), 'chaperone-up-'))
  data = join(root, 'data')
}

async function removeFolder(): Promise<void> {
  for (const each of started.splice(0)) await stop(each)
  await untilNoProcess(data)
  rmSync(root, { recursive: true, force: true })
}

async function start(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const each = await up(data, args, env)
  started.push(each)
  return each
}

const ownAddress = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

/** `run` and the demo need a process of their own. */
async function program(env: NodeJS.ProcessEnv, command: string, ...rest: string[]): Promise<CommandResult> {
  return await run(process.execPath, [CLI, command, '--data', data, ...rest], { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: CommandResult) => error,
  )
}

const cli = (...args: string[]) => runCommand(data, args)

describe('a running installation', { timeout: 90_000 }, () => {
  let shared: Started

  beforeAll(async () => {
    makeFolder()
    shared = await start()
  })
  afterAll(removeFolder)

  it('does not open the inspector on SIGUSR1, in any of its processes', async () => {
    const pids = processesOf(data).filter((pid) => /\/node$/.test(readlinkSync(`/proc/${pid}/exe`)))
    expect(pids.length).toBeGreaterThanOrEqual(4)
    for (const pid of pids) process.kill(pid, 'SIGUSR1')
    await delay(500)
    const logs = readdirSync(join(data, 'logs')).map((name) => readFileSync(join(data, 'logs', name), 'utf8'))
    expect([shared.stderr(), ...logs].join('')).not.toMatch(/debugger listening|starting inspector/i)
    expect((await fetch(`${shared.ready.base_url}/livez`)).status).toBe(200)
    expect((await fetch(`${shared.ready.gateway_url}/health`)).status).toBe(200)
  })

  it('prints exactly one line with addresses, certificates, owner link and the agent dev', async () => {
    const { ready, stdout } = shared
    expect(Object.keys(ready)).toEqual([
      'base_url',
      'gateway_url',
      'ca_file',
      'ca_bundle_file',
      'owner_link',
      'agents',
    ])
    expect(ready.owner_link).toContain(`${ready.base_url}/setup`)
    expect(ready.agents).toEqual([
      { name: 'dev', proxy_url: expect.stringMatching(/^http:\/\/dev:svc_port_[\w-]{43}@127\.0\.0\.1:\d+$/) },
    ])
    for (const file of [ready.ca_file, ready.ca_bundle_file])
      expect(readFileSync(file, 'utf8')).toContain('BEGIN CERTIFICATE')
    expect(readFileSync(ready.ca_bundle_file, 'utf8').length).toBeGreaterThan(100_000)
    for (const file of [
      'admin.token',
      'gateway.token',
      'keys/master.key',
      'keys/ca.key',
      'keys/enrol.token',
      'keys/operator.token',
      'keys/postgres.password',
    ]) {
      expect(statSync(join(data, file)).mode & 0o777, file).toBe(0o600)
    }
    expect(stdout().trimEnd().split('\n')).toHaveLength(1)
    expect((await cli('get', 'manifests')).code).toBe(0)
    expect(JSON.parse((await cli('get', 'manifests', '--json')).stdout).problems).toEqual([])
  })

  it('refuses the request of the printed command line with the reason, without a packet leaving the machine', async () => {
    const { ready } = shared
    const line = tryCommand(ready.agents[0]?.proxy_url ?? '', ready.ca_file)
    const { stdout } = await run('sh', ['-c', line])
    expect(JSON.parse(stdout)).toMatchObject({
      action_type: 'codehost.repo.delete',
      decision: 'deny',
      message: expect.stringContaining('Agents must not delete repositories'),
    })
    const governed = await program(
      commandEnv(data),
      'run',
      '--',
      'curl',
      '-sS',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      '-X',
      'DELETE',
      'https://api.github.com/repos/acme/site',
    )
    expect(governed).toMatchObject({ code: 0, stdout: '403' })
  })

  it('rejects a second start in the same folder with the pid and the remedy, and the first one keeps running', async () => {
    const first = shared
    const { code, stdout, stderr } = await upEnds(data, ['--port', '0', '--gateway-port', '0'])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`pid ${first.pid}`)
    expect(stderr).toContain('--data')
    expect((await cli('status')).code).toBe(0)
  })

  it('applies a manifest, and rejects one with an error by file and line without changes', async () => {
    writeFileSync(
      join(root, 'bad.yaml'),
      'apiVersion: chaperone.dev/v1alpha1\nkind: Permission\nmetadata: { name: extra }\nspec:\n  gatewayRefs: [{ name: local }]\n  rules: []\n',
    )
    const bad = await cli('apply', '-f', join(root, 'bad.yaml'))
    expect(bad).toMatchObject({ code: 1, stderr: expect.stringMatching(/bad\.yaml:6: spec\.rules/) })
    expect(existsSync(join(data, 'manifests', 'bad.yaml'))).toBe(false)
    writeFileSync(
      join(root, 'good.yaml'),
      'apiVersion: chaperone.dev/v1alpha1\nkind: Permission\nmetadata: { name: extra }\nspec:\n  gatewayRefs: [{ name: local }]\n  rules:\n    - { connectorType: codehost, actionPattern: codehost.issue.create, decision: deny }\n',
    )
    expect(await cli('apply', '-f', join(root, 'good.yaml'))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Permission default/extra: accepted'),
    })
    const explained = await cli('explain', 'POST', 'https://api.github.com/repos/a/b/issues')
    expect(explained.stdout).toMatch(/deny/i)
  })

  it('activates and lifts the kill switch, and agents receive the reason', async () => {
    const { ready } = shared
    const on = await cli('kill', 'on', '--reason', 'testing the switch')
    expect(on).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/1 of 1 gateway acknowledged in \d+ ms/),
    })
    const { stdout } = await run('sh', ['-c', tryCommand(ready.agents[0]?.proxy_url ?? '', ready.ca_file)])
    expect(JSON.parse(stdout).error).toBe('Kill switch active: testing the switch')
    expect((await cli('kill', 'off')).code).toBe(0)
    expect((await cli('kill', 'status')).stdout).toContain('No kill switch is active')
  })

  it('restarts a gateway that has exited, reports it, and keeps the port of the agent', async () => {
    const [gateway] = processesOf(data).filter((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('sidecar/main.'),
    )
    process.kill(gateway as number, 'SIGKILL')
    await eventually('the gateway is back', () =>
      shared.stderr().includes('The gateway runs again') ? true : null,
    )
    expect(shared.stderr()).toMatch(/The gateway ended by SIGKILL/)
    const line = tryCommand(shared.ready.agents[0]?.proxy_url ?? '', shared.ready.ca_file)
    await eventually('the gateway answers', async () =>
      (await run('sh', ['-c', line])).stdout.includes('codehost.repo.delete') ? true : null,
    )
  })

  it('stops on SIGTERM and on SIGKILL without leaving a process, and resumes: same agent port, same certificate, same owner', async () => {
    const first = shared
    expect(processesOf(data).length).toBeGreaterThan(3)
    const before = { ca: readFileSync(first.ready.ca_file, 'utf8'), agents: first.ready.agents }
    // An agent was started above, so the first owner registers through a link.
    const { owner_link } = JSON.parse((await cli('owner-link', '--json')).stdout) as { owner_link: string }
    const owner = {
      ...{ email: 'ada@example.com', password: 'correct horse battery', name: 'Ada' },
      setup_token: new URL(owner_link).searchParams.get('token'),
    }
    const registered = await fetch(`${first.ready.base_url}/api/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(owner),
    })
    expect(registered.status).toBe(200)
    expect((await stop(first)).code).toBe(0)
    expect(processTexts(data)).toEqual([])
    expect([existsSync(join(data, 'run.json')), existsSync(join(data, 'lock'))]).toEqual([false, false])

    const second = await start()
    expect(second.ready.agents).toEqual(before.agents)
    expect(readFileSync(second.ready.ca_file, 'utf8')).toBe(before.ca)
    expect(second.ready.owner_link).toBeNull()
    await stop(second, 'SIGKILL')
    await untilNoProcess(data)

    const third = await start()
    expect(third.ready.agents).toEqual(before.agents)
    expect(third.ready.owner_link).toBeNull()
  })
})

describe('chaperone up', { timeout: 90_000 }, () => {
  beforeEach(async () => {
    makeFolder()
    // The first start is tested above.
    await seedCluster(data)
  })
  afterEach(removeFolder)

  it('reports a port that is in use and the option to change it, and leaves no process', async () => {
    const blocker = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => blocker.once('listening', resolve))
    const address = blocker.address()
    const port = typeof address === 'object' && address !== null ? String(address.port) : ''
    try {
      const dashboard = await upEnds(data, ['--port', port, '--gateway-port', '0'])
      expect(dashboard).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(new RegExp(`Port ${port} .*in use[\\s\\S]*--port`)),
      })
      const gateway = await upEnds(data, ['--port', '0', '--gateway-port', port])
      expect(gateway).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(new RegExp(`Port ${port} .*in use[\\s\\S]*--gateway-port`)),
      })
      expect(processTexts(data)).toEqual([])
    } finally {
      blocker.close()
    }
  })

  it('reports an unreachable DATABASE_URL', async () => {
    const { code, stderr } = await upEnds(data, ['--port', '0', '--gateway-port', '0'], {
      DATABASE_URL: 'postgres://nobody:x@127.0.0.1:1/none',
    })
    expect(code).toBe(1)
    expect(stderr).toMatch(/database|DATABASE_URL/i)
    expect(processTexts(data)).toEqual([])
  })
})

/** The embedded PostgreSQL is tested above, and each start of it takes 1 s of CPU time. */
describe('chaperone up on a database of its user', { timeout: 90_000 }, () => {
  let postgres: TestPostgres
  let env: NodeJS.ProcessEnv
  beforeEach(async () => {
    makeFolder()
    postgres = await workerPostgres()
    env = { DATABASE_URL: (await postgres.createMigratedDatabase()).url }
  })
  afterEach(async () => {
    await removeFolder()
    await postgres.stop()
  })

  it('does not change an existing empty manifests folder, and denies every request', async () => {
    const manifests = join(root, 'manifests')
    mkdirSync(manifests)
    const { ready } = await start(['--manifests', manifests], env)
    const proxy = ready.agents[0]?.proxy_url ?? ''
    const { stdout } = await run('curl', [
      '-sS',
      '--noproxy',
      '',
      '--proxy',
      proxy,
      '--cacert',
      ready.ca_file,
      '-o',
      '/dev/null',
      '-w',
      '%{http_code} %{http_connect}',
      'https://api.github.com/user',
    ]).catch((error: { stdout: string }) => error)
    expect(stdout).toContain('403')
  })

  it.skipIf(ownAddress === undefined)(
    'serves on an address of the machine, and talks to itself over loopback',
    async () => {
      const { ready } = await start(['--host', ownAddress ?? ''], env)
      const { hostname, port } = new URL(ready.base_url)
      expect(hostname).toBe(ownAddress)
      expect(ready.owner_link).toMatch(`http://${ownAddress}:${port}/setup?token=`)
      for (const host of [ownAddress, '127.0.0.1'])
        expect((await fetch(`http://${host}:${port}/livez`)).status).toBe(200)
      expect(await cli('status', '--json')).toMatchObject({ code: 0 })
      expect((await cli('agent', 'list')).stdout).toMatch(/^dev +active/m)
      // No token is sent to another machine, even when it has the address now.
      const environments = processesOf(data).map((pid) => readFileSync(`/proc/${pid}/environ`, 'latin1'))
      expect(environments.join('')).not.toContain(`CONTROL_PLANE_URL=http://${ownAddress}`)
      expect(JSON.parse(readFileSync(join(data, 'run.json'), 'utf8')).base_url).toBe(
        `http://127.0.0.1:${port}`,
      )
    },
  )

  // In `npm test` the address of the machine alone, above.
  it.each(['::1', '0.0.0.0', '127.0.0.2', 'localhost'].slice(0, size(ownAddress === undefined ? 1 : 0, 4)))(
    'serves on %s, and commands reach it',
    async (host) => {
      await start(['--host', host], env)
      expect(await cli('status')).toMatchObject({ code: 0 })
      expect((await cli('agent', 'list')).stdout).toMatch(/^dev +active/m)
    },
  )

  it('runs without a gateway in Mode B', async () => {
    const { ready } = await start(['--no-gateway'], env)
    expect([ready.gateway_url, ready.agents]).toEqual([null, []])
    expect((await cli('status')).stdout).toContain('Mode B')
    expect((await fetch(`${ready.base_url}/livez`)).status).toBe(200)
    // The starter set has a gateway, but no gateway has a token, so none is missing.
    expect((await fetch(`${ready.base_url}/api/health`)).status).toBe(200)
  })
})

describe('chaperone demo', { timeout: 90_000 }, () => {
  beforeEach(makeFolder)
  afterEach(removeFolder)

  it('creates a data folder that the printed command accepts, even with a umask that makes files group-writable; ends on a Ctrl-C that npm repeats, and leaves no files or processes', async () => {
    const child = spawn('sh', ['-c', 'umask 0002; exec "$0" "$@"', process.execPath, CLI, 'demo'], {
      env: { ...process.env, TMPDIR: root },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = new Promise((resolve) => child.once('close', resolve))
    let said = ''
    await new Promise<void>((resolve) => {
      child.once('close', () => resolve())
      child.stdout.on('data', (chunk: Buffer) => {
        said += String(chunk)
        if (said.includes('Answer in the dashboard')) resolve()
      })
    })
    data = join(root, readdirSync(root).find((name) => name.startsWith('chaperone-demo-')) ?? '', 'data')
    const listed = await program(process.env, 'approvals', 'ls')
    child.kill('SIGINT')
    setTimeout(() => child.kill('SIGINT'), 20)
    expect(await ended).toBe(1)
    expect([listed.code, listed.stderr]).toEqual([0, ''])
    expect(said).toContain('Stopped.')
    expect(readdirSync(root)).toEqual([])
    await untilNoProcess(root)
  })

  it('runs the complete demo with --yes, and leaves no files or processes', async () => {
    const tmp = join(root, 'tmp')
    mkdirSync(tmp)
    const { stdout } = await run(process.execPath, [CLI, 'demo', '--yes'], {
      env: { ...process.env, TMPDIR: tmp },
    })
    for (const said of [
      '201: issue 42',
      '200: merged',
      '403: ',
      'Kill switch active: end of the demo',
      '(approved)',
    ])
      expect(stdout).toContain(said)
    expect(readdirSync(tmp)).toEqual([])
    await untilNoProcess(tmp)
  })
})
