import type { ConnectorView } from '../../../../core/wire/connectors.ts'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'

type Minted = NonNullable<ConnectorView['minted']>
type Props = {
  readonly minted: Minted
  /**
   * Name of the variable, path or command from which the control plane itself reads the credential; null for a
   * credential with another source.
   */
  readonly name: string | null
}

/** Shows the age, the expiry and the last failure of a short-lived credential. */
export function MintedBadge({ minted, name }: Props) {
  const { kind, issued_at, expires_at, error } = minted
  const source = SOURCES[kind]
  // A credential that is read from a variable or a file has no expiry.
  const isValid = expires_at === null ? issued_at !== null : Date.parse(expires_at) > Date.now()
  const origin = source === undefined ? '' : `Read from the ${source} ${name}. `
  const title = `${origin}${validityOf(minted, isValid)}${error === null ? '' : ` ${error}`}`
  if (!isValid)
    return (
      <ToneBadge tone="bad" title={title}>
        {error === null ? 'Being fetched' : 'Source failing, no valid secret'}
      </ToneBadge>
    )
  return (
    <ToneBadge tone={error === null ? 'good' : 'wait'} title={title}>
      {`${labelOf(minted, source)}${error === null ? '' : ', source failing'}`}
    </ToneBadge>
  )
}

/** Texts for the sources from which the control plane itself reads credentials. */
const SOURCES: Readonly<Partial<Record<Minted['kind'], string>>> = {
  env: 'environment variable',
  file: 'file',
  exec: 'command',
}

function labelOf({ expires_at }: Minted, source: string | undefined): string {
  const until = expires_at === null ? '' : `, until ${timeOf(expires_at)}`
  return `${source === undefined ? 'Short-lived' : `From the ${source}`}${until}`
}

function validityOf({ issued_at, expires_at }: Minted, isValid: boolean): string {
  if (issued_at === null) return 'No secret was issued yet.'
  const issued = `Issued ${timeOf(issued_at)}`
  return expires_at === null
    ? `${issued}.`
    : `${issued}, ${isValid ? 'expires' : 'expired'} ${timeOf(expires_at)}.`
}

function timeOf(at: string | null): string {
  return at === null ? 'at an unknown time' : new Date(at).toLocaleTimeString()
}
