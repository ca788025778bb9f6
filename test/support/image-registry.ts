import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { stringify } from 'yaml'
import { freePort } from '../../controlplane/cli/postgres/free-port.ts'
import { eventually } from './eventually.ts'
import { createTestCa } from './test-ca.ts'

/** An OCI registry (`docker-registry` of Debian) on loopback, with TLS. */
export type ImageRegistry = AsyncDisposable & {
  /** Name and port, as in the name of an image. */
  readonly host: string
  /** File with the certificate authority of the registry, in PEM. */
  readonly caFile: string
  /** Resolves with the digest and the manifest of a tag or digest; null when the registry does not have it. */
  manifest(repository: string, reference: string): Promise<StoredManifest | null>
}

type StoredManifest = { readonly digest: string; readonly manifest: unknown }

const INDEX = 'application/vnd.oci.image.index.v1+json'
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'

export async function startImageRegistry(): Promise<ImageRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-registry-'))
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content, { mode: 0o600 })
    return join(folder, name)
  }
  const ca = createTestCa()
  const { cert, key } = ca.issue('localhost')
  const port = await freePort()
  const settings = file(
    'registry.yml',
    stringify({
      version: 0.1,
      log: { level: 'error', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(folder, 'storage') } },
      http: {
        addr: `127.0.0.1:${port}`,
        tls: { certificate: file('tls.crt', cert), key: file('tls.key', key) },
      },
    }),
  )
  const registry = spawn('docker-registry', ['serve', settings], { stdio: 'ignore' })
  const gone = once(registry, 'exit')
  const ask = (path: string) => getTls({ port, path, ca: ca.cert })
  await eventually('the registry responds', () =>
    ask('/v2/').then(
      () => true,
      () => null,
    ),
  )
  return {
    host: `localhost:${port}`,
    caFile: file('ca.crt', ca.cert),
    async manifest(repository, reference) {
      const { status, headers, body } = await ask(`/v2/${repository}/manifests/${reference}`)
      if (status === 404) return null
      return { digest: String(headers['docker-content-digest']), manifest: JSON.parse(body) }
    },
    async [Symbol.asyncDispose]() {
      registry.kill('SIGKILL')
      await gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function getTls(target: { readonly port: number; readonly path: string; readonly ca: string }) {
  const accept = `${INDEX}, ${MANIFEST}`
  const asked = get({ host: '127.0.0.1', servername: 'localhost', headers: { accept }, ...target })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve).once('error', reject)
  })
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}
