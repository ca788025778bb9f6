import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { TRUST_FILES } from '../../core/capture/pod-contract.ts'
import { javaTrustStoreOf } from '../../core/x509/java-trust-store.ts'
import { writeAtomically } from './files.ts'

export type TrustFolder = {
  readonly dir: string
  /** PEM of the root certificates for the agent. */
  readonly caPems: readonly string[]
  /** PEM file with further CA certificates for the agent; null for none. */
  readonly extraFile: string | null
}

/**
 * Writes the trust stores of the clients in a pod, in the formats of the clients, from the public roots, `caPems`, and
 * the certificates in `extraFile`. Each file is replaced atomically. Throws an error that names `extraFile` when that
 * file is invalid.
 */
export async function writeTrustFolder({ dir, caPems, extraFile }: TrustFolder): Promise<void> {
  const extra = extraFile === null ? [] : await readExtra(extraFile)
  const bundle = join(dir, TRUST_FILES.bundle)
  const all = [...caPems, ...extra, ...rootCertificates].map((text) => text.trim())
  await write(bundle, `${all.join('\n')}\n`)
  await write(join(dir, TRUST_FILES.own), [...caPems, ...extra].map((text) => `${text.trim()}\n`).join(''))
  await write(join(dir, TRUST_FILES.wgetrc), `ca_certificate = ${bundle}\n`)
  await write(join(dir, TRUST_FILES.java), javaTrustStoreOf(all))
}

async function readExtra(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`EXTRA_CA_FILE: ${file} cannot be read; check trust.extraSecretRef of the Gateway`, {
      cause,
    })
  })
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (found.length > 0) return found
  throw new Error(`EXTRA_CA_FILE: ${file} contains no certificate; check trust.extraSecretRef of the Gateway`)
}

/** Writes a file that every user in the pod can read. */
function write(path: string, content: string | Uint8Array): Promise<void> {
  return writeAtomically(path, content, 0o644)
}
