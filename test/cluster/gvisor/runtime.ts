import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildGoModule } from '../../support/go-module.ts'
import { GVISOR } from '../../support/gvisor.ts'
import { apply, kube, run } from '../kubectl.ts'

/** RuntimeClasses of gVisor, by the setting `net-raw` of runsc. */
export const RUNTIME_CLASSES = { raw: 'gvisor', noRaw: 'gvisor-no-raw' } as const
/** Name that containerd looks for, by `runtime_type`. */
const SHIM = 'containerd-shim-runsc-v1'
const HANDLERS = { [RUNTIME_CLASSES.raw]: 'runsc', [RUNTIME_CLASSES.noRaw]: 'runsc-no-raw' }

/**
 * Builds gVisor from its Go module, has `installer` add it to the container runtime of every node, and creates the
 * RuntimeClasses. Resolves with the version of gVisor.
 */
export async function installGvisor(installer: string): Promise<string> {
  const { folder } = await buildGoModule(GVISOR)
  writeFileSync(join(folder, SHIM), shim(folder), { mode: 0o755 })
  // The default of runsc is no raw sockets.
  writeFileSync(join(folder, 'runsc.toml'), runscConfig(folder, ['net-raw = "true"']))
  writeFileSync(join(folder, 'runsc-no-raw.toml'), runscConfig(folder, []))
  writeFileSync(join(folder, 'containerd.toml'), Object.values(HANDLERS).map(runtimeOf(folder)).join(''))
  const installed = await run('sh', ['-c', installer, 'installer', folder], '')
  if (installed.code !== 0) throw new Error(`CHAPERONE_RUNTIME_INSTALLER: ${installed.stderr}`)
  await apply(
    ...Object.entries(HANDLERS).map(([name, handler]) => ({
      ...{ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name }, handler },
    })),
  )
  return GVISOR.version
}

export async function removeRuntimeClasses(): Promise<void> {
  const names = Object.keys(HANDLERS).map((name) => `runtimeclass/${name}`)
  await kube(['delete', ...names, '--ignore-not-found'])
}

/** containerd 1.6 expects the address alone from the action `start`. Newer versions also take the JSON of the program. */
function shim(folder: string): string {
  const program = join(folder, 'gvisor-shim')
  return `#!/bin/sh
for action; do :; done
[ "$action" = start ] || exec ${program} "$@"
out=$(${program} "$@") || { printf %s "$out"; exit 1; }
printf %s "$out" | sed 's/.*"address":"\\([^"]*\\)".*/\\1/'
`
}

/** No KVM is needed with systrap. */
function runscConfig(folder: string, settings: readonly string[]): string {
  const config = ['platform = "systrap"', ...settings].map((line) => `  ${line}`)
  return [`binary_name = "${join(folder, 'runsc')}"`, '[runsc_config]', ...config, ''].join('\n')
}

/** Sections of a configuration of containerd, version 2. */
const runtimeOf = (folder: string) => (handler: string) => {
  const section = `plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${handler}`
  return [
    `[${section}]`,
    '  runtime_type = "io.containerd.runsc.v1"',
    `  [${section}.options]`,
    '    TypeUrl = "io.containerd.runsc.v1.options"',
    `    ConfigPath = "${join(folder, `${handler}.toml`)}"`,
    '',
  ].join('\n')
}
