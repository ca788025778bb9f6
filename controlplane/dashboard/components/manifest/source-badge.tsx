import type { Managed, ObjectOrigin } from '../../../../core/wire/operator/origin.ts'
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

/** Shows the origin of an object: a manifest, the dashboard, the command line, or the program itself. */
export function SourceBadge({ row }: { readonly row: Placed }) {
  const { from, commit } = row.origin
  if (from !== 'manifest') return <ToneBadge tone="quiet">{TITLES[from]}</ToneBadge>
  return (
    <ToneBadge tone="info" title={manifestPlace(row)}>
      {commit === null ? TITLES.manifest : `${TITLES.manifest} ${commit.slice(0, SHORT_COMMIT)}`}
    </ToneBadge>
  )
}

/** Shows the origin of an object as text, for a list of facts. */
export function SourceText({ row }: { readonly row: Placed }) {
  const { from } = row.origin
  return from === 'manifest' ? <UntrustedText text={manifestPlace(row)} /> : TITLES[from]
}

/** Reports whether a manifest defines the object. The API rejects edits of such an object with 409. */
export function isReadOnly({ source }: Pick<Managed, 'source'>): boolean {
  return source !== 'api'
}

/** Explains where a read-only object is edited. */
export function ManagedNote({ row }: { readonly row: Managed }) {
  return (
    <>
      {row.source === 'kubernetes'
        ? 'This object is defined by a resource of the cluster: '
        : 'This object is defined by a manifest: '}
      <UntrustedText text={manifestPlace(row)} />. Edit it there; changes take effect within seconds.
    </>
  )
}

/** Joins the known parts of an object's origin: file, commit, object, and deployment tool. */
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
