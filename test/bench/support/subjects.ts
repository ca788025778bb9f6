import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../controlplane/cli/postgres/free-port.ts'
import { end, serve } from '../../support/processes.ts'
import type { Target } from '../../support/tunnel.ts'
import { startChaperone } from './chaperone-subject.ts'
import { startEnvoy } from './envoy.ts'
import { startHaproxy } from './haproxy.ts'
import { type Bed, isInstalled, linesOf, type StartSubject, type Subject, started } from './subject.ts'

const PEERS = new URL('../peers/', import.meta.url).pathname

/** Every subject by its name. */
export const SUBJECTS: Readonly<Record<string, StartSubject>> = {
  chaperone: (bed) => startChaperone(bed),
  '@fastify/http-proxy': (bed) => startPeer(bed, 'fastify-proxy.mjs', '@fastify/http-proxy', 'reverse'),
  'http-mitm-proxy': (bed) => startPeer(bed, 'http-mitm.mjs', 'http-mitm-proxy', 'connect'),
  mockttp: (bed) => startPeer(bed, 'mockttp.mjs', 'mockttp', 'connect'),
  'bare Node forwarder': (bed) => startPeer(bed, 'bare-forwarder.mjs', 'bare Node forwarder', 'reverse'),
  mitmdump: startMitmdump,
  haproxy: startHaproxy,
  'Envoy + ext_authz': startEnvoy,
}

async function startPeer(
  bed: Bed,
  script: string,
  name: string,
  via: Target['via'],
): Promise<Subject | string> {
  installPeers()
  const state = mkdtempSync(join(bed.folder, 'peer-'))
  const served = await serve(PEERS + script, {
    UPSTREAM_PORT: String(bed.upstreamPort),
    CA_FILE: bed.caFile,
    KEY_FILE: bed.keyFile,
    CERT_FILE: bed.certFile,
    STATE_DIR: state,
    RECORDS_FILE: join(state, 'records.jsonl'),
    ALLOW_ALL: '1',
  })
  return {
    name,
    pid: served.pid,
    target: { port: served.port, via, ca: null },
    finish: async () => {
      await end(served.child)
      return linesOf(join(state, 'records.jsonl'))
    },
  }
}

/** Once, on the first use: these packages are the bench's own and no dependency of the product. */
function installPeers(): void {
  if (existsSync(`${PEERS}node_modules`)) return
  console.error('bench: installing the peers (once) ...')
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'], {
    cwd: PEERS,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

async function startMitmdump(bed: Bed): Promise<Subject | string> {
  if (!isInstalled('mitmdump')) return 'not installed (pip install mitmproxy)'
  const port = await freePort()
  const state = mkdtempSync(join(bed.folder, 'mitm-'))
  const trust = `ssl_verify_upstream_trusted_ca=${bed.caFile}`
  const args = [
    '-q',
    '-p',
    String(port),
    '--listen-host',
    '127.0.0.1',
    '-s',
    `${PEERS}mitm_addon.py`,
    '--set',
    trust,
  ]
  const child = spawn(
    'mitmdump',
    [...args, '--set', `confdir=${state}`, '--set', 'connection_strategy=lazy'],
    {
      env: {
        ...process.env,
        UPSTREAM_PORT: String(bed.upstreamPort),
        RECORDS_FILE: join(state, 'records.jsonl'),
      },
      stdio: 'ignore',
    },
  )
  return started('mitmdump', child, {
    target: { port, via: 'connect', ca: null },
    records: () => linesOf(join(state, 'records.jsonl')),
  })
}

export function makeFolder(): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-bench-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
