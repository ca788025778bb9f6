import { execFileSync, spawn } from 'node:child_process'
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureInstallationKey } from '../../controlplane/cli/client/installation-key.ts'
import { writeStateFile } from '../../controlplane/cli/state/state-home.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { descendant } from '../support/processes.ts'
import { CLI, run, runAsOther } from './captured.ts'
import { noNamespaces } from './network.ts'
import { listen, MARK, type Outside, startOutside } from './outside.ts'

const reason = noNamespaces()
const title = reason === null ? '' : ` (skipped: ${reason})`
const ESCAPE = new URL('escape.py', import.meta.url).pathname

const leaksOf = (stdout: string) => {
  const all = JSON.parse(stdout) as Record<string, unknown>
  return {
    count: Object.keys(all).length,
    leaks: Object.entries(all).filter(([, leaked]) => leaked !== null),
  }
}

describe.skipIf(reason !== null)(`a captured command of root${title}`, () => {
  let laptop: Laptop
  let outside: Outside
  const alias = mkdtempSync(join(tmpdir(), 'chaperone-alias-'))
  const state = () => join(laptop.data, '..', 'state')
  beforeAll(async () => {
    outside = await startOutside()
    laptop = await startLaptop({ isCaptured: true })
    writeFileSync(join(laptop.manifests, 'note.txt'), MARK)
    execFileSync('mount', ['--bind', laptop.data, alias])
  })
  afterAll(async () => {
    execFileSync('umount', [alias])
    rmSync(alias, { recursive: true })
    outside.close()
    await laptop.stop()
  })

  test('has no access to the installation, other processes and their sockets', async () => {
    const { data, manifests, pid, ready } = laptop
    const secrets = ['admin.token', 'gateway.token', 'keys/master.key', 'keys/ca.key', 'gateway/ports.key']
    const key = readdirSync(join(state(), 'chaperone')).find((name) => name.startsWith('installation-')) ?? ''
    const files = [
      join(state(), 'chaperone', key),
      ...secrets.map((name) => join(data, name)),
      join(manifests, 'note.txt'),
      join(alias, 'admin.token'),
    ]
    const { key: proof } = JSON.parse(readFileSync(files[0] as string, 'utf8'))
    const marks = [
      MARK,
      proof,
      'svc_port_',
      ...secrets.map((name) => readFileSync(join(data, name), 'utf8').trim()),
    ]
    const gateway = descendant(pid, 'sidecar/main') ?? 0
    const ports = [Number(new URL(ready.base_url).port), Number(new URL(ready.gateway_url).port)]
    const facts = {
      ...{
        files,
        marks: marks.map((mark) => mark.slice(0, 40)),
        pids: [pid, gateway, process.pid],
        ports,
        descriptors: [7, 63],
      },
      folders: [data, manifests, alias, join(state(), 'chaperone')],
      sockets: [join(data, 'gateway', 'capture.sock'), join(outside.dir, 'daemon.sock')],
      ...{ abstract: outside.abstract, shared: outside.shared, terminal: outside.terminal },
    }
    const descriptors = [openSync(join(data, 'admin.token'), 'r'), openSync(data, 'r')] as const
    const ran = await run(
      [
        process.execPath,
        CLI,
        'run',
        '--data',
        data,
        '--capture',
        '--',
        '/usr/bin/python3',
        ESCAPE,
        factsIn(outside, facts),
      ],
      {
        descriptors,
        env: { XDG_STATE_HOME: state(), CHAPERONE_TOKEN: MARK, MASTER_KEY: MARK, TMPDIR: outside.dir },
      },
    )
    for (const one of descriptors) closeSync(one)
    const { count, leaks } = leaksOf(ran.stdout || ran.stderr)
    expect(leaks).toEqual([])
    expect(count).toBeGreaterThan(200)
    expect(readFileSync(join(data, 'admin.token'), 'utf8')).not.toBe('')
    expect(readdirSync(outside.dir).filter((name) => name.startsWith('chaperone-trust-'))).toEqual([])
  }, 120_000)

  test('does not see folders of other installations, nor a state folder that is created later', async () => {
    const [tree, other] = ['tree', 'other'].map((name) => join(outside.dir, name)) as [string, string]
    const home = join(outside.dir, 'home')
    for (const dir of [join(tree, '.chaperone'), other, home]) {
      mkdirSync(dir, { recursive: true })
      writeFileSync(join(dir, 'admin.token'), MARK, { mode: 0o600 })
    }
    const env = { XDG_STATE_HOME: state(), HOME: home }
    const trusted = await run([process.execPath, CLI, 'trust', tree], { env })
    expect(trusted.code).toBe(0)
    ensureInstallationKey(env, other)
    const later = join(home, '.local', 'state', 'chaperone')
    const script = `touch ${outside.dir}/started; while [ ! -e ${outside.dir}/made ]; do sleep 0.05; done
      cat ${tree}/.chaperone/admin.token ${other}/admin.token ${later}/sessions.json ${state()}/chaperone/*; ls ${later} && ls ${tree} ${home}`
    const started = eventually(
      'the command has started',
      () => existsSync(join(outside.dir, 'started')) || null,
    )
    const command = [
      process.execPath,
      CLI,
      'run',
      '--data',
      laptop.data,
      '--capture',
      '--',
      'sh',
      '-c',
      script,
    ]
    const running = run(command, { env, cwd: '/' })
    await started
    writeStateFile({ HOME: home }, 'sessions.json', MARK)
    writeFileSync(join(outside.dir, 'made'), '')
    const { stdout, stderr } = await running
    expect(stdout + stderr).not.toContain(MARK)
    expect(stdout + stderr).toContain('admin.token')
    expect(stdout).not.toContain('sessions.json')
  })

  test('is not started in a masked folder', async () => {
    const command = [process.execPath, CLI, 'run', '--data', laptop.data, '--capture', '--', 'true']
    for (const cwd of [laptop.data, join(laptop.data, 'keys'), laptop.manifests, alias]) {
      const ran = await run(command, { cwd, env: { XDG_STATE_HOME: state() } })
      expect([ran.code === 0, ran.stdout]).toEqual([false, ''])
      expect(ran.stderr).toMatch(/working directory .* is in .*start/is)
    }
  })

  test('opens new terminals', async () => {
    const script = 'import os; print(os.ttyname(os.openpty()[1]), sorted(os.listdir("/dev/pts")))'
    const own = ['/usr/bin/python3', '-c', script]
    const ran = await run([process.execPath, CLI, 'run', '--data', laptop.data, '--capture', '--', ...own], {
      env: { XDG_STATE_HOME: state() },
    })
    expect(ran.stdout).toBe("/dev/pts/0 ['0', 'ptmx']\n")
  })

  test('receives signals, and its children end with it', async () => {
    const script = 'trap "echo got TERM; exit 9" TERM; sleep 600 & echo ready; while :; do sleep 0.1; done'
    const child = spawn(
      process.execPath,
      [CLI, 'run', '--data', laptop.data, '--capture', '--', 'sh', '-c', script],
      { env: { ...process.env, XDG_STATE_HOME: state() } },
    )
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => {
      out += String(chunk)
      if (out === 'ready\n') child.kill('SIGTERM')
    })
    const code = await new Promise((resolve) => child.once('close', resolve))
    expect([out, code]).toEqual(['ready\ngot TERM\n', 9])
  })
})

describe.skipIf(reason !== null)(`a captured command of another user${title}`, () => {
  test('has no access either, even with nested user namespaces', async () => {
    const outside = await startOutside(1_000)
    const data = join(outside.dir, 'data')
    const state = join(outside.dir, 'state')
    mkdirSync(join(data, 'gateway'), { recursive: true })
    mkdirSync(join(state, 'chaperone'), { recursive: true })
    const files = [join(data, 'admin.token'), join(state, 'chaperone', 'session.json')]
    for (const file of files) writeFileSync(file, MARK, { mode: 0o600 })
    const socket = await listen(join(data, 'gateway', 'capture.sock'))
    const owned = [
      data,
      join(data, 'gateway'),
      state,
      join(state, 'chaperone'),
      ...files,
      join(data, 'gateway', 'capture.sock'),
    ]
    for (const path of owned) chownSync(path, 1_000, 1_000)
    const facts = {
      ...{ files, marks: [MARK], pids: [process.pid], ports: [], descriptors: [7, 63] },
      folders: [data, join(state, 'chaperone')],
      sockets: [join(data, 'gateway', 'capture.sock'), join(outside.dir, 'daemon.sock')],
      ...{ abstract: outside.abstract, shared: outside.shared, terminal: outside.terminal },
    }
    const command = ['/usr/bin/python3', ESCAPE, factsIn(outside, facts)]
    const descriptors = [openSync(files[0] as string, 'r'), openSync(data, 'r')] as const
    const ran = await runAsOther({ outside, data, masked: join(state, 'chaperone'), command, descriptors })
    for (const one of descriptors) closeSync(one)
    socket.close()
    outside.close()
    const { count, leaks } = leaksOf(ran.stdout || ran.stderr)
    expect(leaks).toEqual([])
    expect(count).toBeGreaterThan(80)
    expect(existsSync(data)).toBe(false)
  }, 120_000)
})

/** A file, because arguments and variables are part of the search for secrets. */
function factsIn({ dir }: Outside, facts: object): string {
  const file = join(dir, 'facts.json')
  writeFileSync(file, JSON.stringify(facts), { mode: 0o644 })
  return file
}
