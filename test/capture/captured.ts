import { spawn } from 'node:child_process'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cliProgram } from '../support/cli-program.ts'
import { MARK, type Outside } from './outside.ts'

export const CLI = cliProgram()

export const AS_OTHER = ['--reuid', '1000', '--regid', '1000', '--clear-groups', '--']

type OtherRun = {
  readonly outside: Outside
  readonly data: string
  readonly masked: string
  readonly command: readonly string[]
  readonly descriptors?: readonly [number, number]
}

/** `chaperone run --capture` of a user who is not root. */
export function runAsOther({ outside, data, masked, command, ...options }: OtherRun) {
  for (const path of [data, join(data, 'gateway'), join(data, 'gateway', 'capture.sock')])
    chownSync(path, 1_000, 1_000)
  const file = join(outside.dir, 'run.mjs')
  writeFileSync(
    file,
    `import { runCaptured, runNamespaceProcess } from '${moduleUrl('capture/run-captured.ts')}'
    import { dataFolder } from '${moduleUrl('state/data-folder.ts')}'
    const command = ${JSON.stringify(command)}
    const inside = await runNamespaceProcess(command, process.env)
    const own = { agent: 'me', key: '${MARK}', folder: dataFolder('${data}'), masked: () => ['${masked}'], command }
    process.exitCode = inside ?? (await runCaptured({ ...own, env: (dir) => ({ ...process.env, SSL_CERT_FILE: dir + '/capture.nft' }), ownEnv: process.env }))`,
  )
  return run(['setpriv', ...AS_OTHER, process.execPath, file], { ...options, cwd: '/' })
}

export function moduleUrl(path: string): string {
  return new URL(`../../controlplane/cli/${path}`, import.meta.url).href
}

type RunOptions = {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Descriptors that the command inherits as 7 and 63. */
  readonly descriptors?: readonly [number, number]
}

export function run(argv: readonly string[], { cwd, env = {}, descriptors }: RunOptions = {}) {
  const [program = '', ...args] = argv
  const stdio: Array<'ignore' | 'pipe' | number> = ['ignore', 'pipe', 'pipe']
  if (descriptors !== undefined) {
    while (stdio.length < 64) stdio.push('ignore')
    stdio[7] = descriptors[0]
    stdio[63] = descriptors[1]
  }
  const child = spawn(program, args, {
    stdio,
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += String(chunk)
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += String(chunk)
  })
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) =>
    child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr })),
  )
}
