import type { ObjectOrigin } from '../../../../core/wire/origin.ts'
import type { Managed } from '../../api/admin-shapes.ts'
import { ToneBadge } from '../layout/tone-badge.tsx'
import { UntrustedText } from '../text/untrusted-text.tsx'

const TITLES: Readonly<Record<ObjectOrigin['from'], string>> = {
  manifest: 'Manifest',
  dashboard: 'Dashboard',
  command_line: 'Command line',
  built_in: 'Built in',
}

const SHORT_COMMIT = 12

type Placed = Pick<Managed, 'managed_by' | 'origin'>

/** Where a row comes from, and so where it is changed. */
export function SourceBadge({ row }: { readonly row: Placed }) {
  const { from, commit } = row.origin
  if (from !== 'manifest') return <ToneBadge tone="quiet">{TITLES[from]}</ToneBadge>
  return (
    <ToneBadge tone="info" title={manifestPlace(row)}>
      {commit === null ? TITLES.manifest : `${TITLES.manifest} ${commit.slice(0, SHORT_COMMIT)}`}
    </ToneBadge>
  )
}

/** The same in a list of facts. */
export function SourceText({ row }: { readonly row: Placed }) {
  const { from } = row.origin
  return from === 'manifest' ? <UntrustedText text={manifestPlace(row)} /> : TITLES[from]
}

/** Rows of manifests are changed where the manifest is; the API answers 409. */
export function isReadOnly({ source }: Pick<Managed, 'source'>): boolean {
  return source !== 'api'
}

/** The sentence for a row that cannot be changed here. */
export function ManagedNote({ row }: { readonly row: Managed }) {
  return (
    <>
      {row.source === 'kubernetes'
        ? 'It comes from a resource of the cluster: '
        : 'It comes from a manifest: '}
      <UntrustedText text={manifestPlace(row)} />. Change it there; it is taken over within seconds.
    </>
  )
}

/** The file with its commit, the object, and what applied it, as far as they are known. */
function manifestPlace({ managed_by: place, origin }: Placed): string {
  const { file, commit, deployed_by: tool } = origin
  const parts = [
    file,
    commit === null ? null : `commit ${commit.slice(0, SHORT_COMMIT)}`,
    place === file ? null : place,
    tool === null ? null : `applied by ${tool}`,
  ]
  return parts.filter((part) => part !== null).join(', ') || TITLES.manifest
}
