import type { ConnectorView } from '../../../../core/wire/connectors.ts'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import { MintedBadge } from './minted-badge.tsx'

type Props = {
  readonly row: Pick<ConnectorView, 'auth_type' | 'has_token' | 'type' | 'credential' | 'minted'>
}

/** Shows the state of a connector's credential. */
export function CredentialBadge({ row: { auth_type, has_token, type, credential, minted } }: Props) {
  if (auth_type === 'none') return <ToneBadge tone="quiet">Not required</ToneBadge>
  if (has_token && minted !== null) return <MintedBadge minted={minted} name={credential.name} />
  if (has_token) return <ToneBadge tone="good">{`Stored, sent as ${auth_type}`}</ToneBadge>
  if (type === 'codehost' && credential.source !== 'vault') {
    return (
      <ToneBadge
        tone="wait"
        title="This connector has no credential of its own. Requests are sent with the GitHub access token of the page Settings; without that token, they are denied."
      >
        From settings, if set
      </ToneBadge>
    )
  }
  return (
    <ToneBadge tone="bad" title="Requests are denied until the connector has a credential.">
      Missing
    </ToneBadge>
  )
}
