import type { Managed } from '../api/admin-shapes.ts'
import { ToneBadge } from './tone-badge.tsx'
import { UntrustedText } from './untrusted-text.tsx'

const WORDS = { kubernetes: 'Cluster', file: 'Manifest', api: 'Dashboard' } as const

/** Where a row comes from, and so where it is changed. */
export function SourceBadge({ row }: { readonly row: Managed }) {
  return (
    <ToneBadge
      tone={isReadOnly(row) ? 'info' : 'quiet'}
      {...(row.managed_by === null ? {} : { title: row.managed_by })}
    >
      {WORDS[row.source]}
    </ToneBadge>
  )
}

/** Rows of manifests are changed where the manifest is; the API answers 409. */
export function isReadOnly({ source }: Managed): boolean {
  return source !== 'api'
}

/** The sentence for a row that cannot be changed here. */
export function ManagedNote({ row }: { readonly row: Managed }) {
  return (
    <>
      {row.source === 'kubernetes' ? 'It comes from a resource of the cluster' : 'It comes from a manifest'}
      {row.managed_by === null ? '' : ': '}
      {row.managed_by === null ? null : <UntrustedText text={row.managed_by} />}. Change it there; it is taken
      over within seconds.
    </>
  )
}
