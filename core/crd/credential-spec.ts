import * as z from 'zod'
import { described } from './described.ts'
import { dns1123 } from './fields.ts'

export const CredentialSpec = z.strictObject({
  secretRef: described(
    z
      .strictObject({
        name: described(dns1123, 'Name of the Secret.', 'codehost'),
        key: described(
          z
            .string()
            .min(1)
            .max(253)
            .regex(/^[-._a-zA-Z0-9]+$/, 'must have letters, digits, -, _ and . only')
            .default('token'),
          'Key of the Secret that has the credential.',
          'token',
        ),
      })
      .optional(),
    'Secret in the namespace of the Connector.',
    { name: 'codehost' },
  ),
  vault: described(
    dns1123.optional(),
    'Name of a credential in the encrypted store of the control plane, which `chaperone credential set NAME` and the Connectors page fill. On one machine only; in a cluster use `secretRef`.',
    'codehost',
  ),
})

type Sources = { readonly secretRef?: unknown; readonly vault?: string | undefined }

/** Reports whether the credential of a Connector has exactly one source. */
export function hasOneSource({ secretRef, vault }: Sources): boolean {
  return (secretRef === undefined) !== (vault === undefined)
}

export const ONE_SOURCE = 'must have exactly one of secretRef and vault'

/**
 * Returns the reason why a manifest must not have this credential; null when it may. The encrypted store is for files of
 * the machine: an object of a cluster that names an entry would take a credential that its author cannot read.
 */
export function sourceProblem(credential: Sources | undefined, source: string): string | null {
  if (credential === undefined) return null
  if (!hasOneSource(credential)) return `spec.credential: ${ONE_SOURCE}`
  if (credential.vault === undefined || source === 'file') return null
  return 'spec.credential.vault: exists only on an installation of one machine; in a cluster create a Secret, and name it in secretRef'
}

type NamedCredential = z.infer<typeof CredentialSpec>

/** Returns the warning about a Secret that the spec names and that has no value; null when the spec names none. */
export function missingCredential(credential: NamedCredential | undefined, namespace: string): string | null {
  const ref = credential?.secretRef
  if (ref === undefined) return null
  return `the Secret ${namespace}/${ref.name} has no key ${ref.key}: until it has, requests are refused because there is no credential to send`
}
