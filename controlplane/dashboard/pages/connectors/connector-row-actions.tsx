import { Button, PasswordInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { ConnectorView } from '../../../../core/wire/connectors.ts'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { isPlaintext } from '../../components/form/is-plaintext.ts'
import { PlaintextCredential } from '../../components/form/plaintext-credential.tsx'
import { PrivateAddresses } from '../../components/form/private-addresses.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { useSession } from '../../session/session.tsx'
import { CredentialActions } from './credential-actions.tsx'

type Props = { readonly row: ConnectorView; readonly onDone: () => void }

export function ConnectorRowActions({ row, onDone }: Props) {
  const { isYaml } = useSession()
  const [isOpen, { open, close }] = useDisclosure(false)
  return (
    <CredentialActions row={row} onDone={onDone}>
      {isYaml ? null : (
        <Button size="xs" variant="default" onClick={open} aria-label={`New credential for ${row.name}`}>
          New credential
        </Button>
      )}
      <ConfirmButton
        label="Remove"
        ariaLabel={`Remove ${row.name}`}
        title="Remove this connector"
        onConfirm={async () => {
          await call('DELETE /api/dashboard/connectors', { query: { connector_id: row.id } })
          onDone()
        }}
      >
        The credential of the connector is deleted, and gateways refuse requests to its hosts. Permissions are
        kept.
      </ConfirmButton>
      <NewCredential row={row} isOpen={isOpen} onClose={close} onDone={onDone} />
    </CredentialActions>
  )
}

function NewCredential(props: Props & { readonly isOpen: boolean; readonly onClose: () => void }) {
  const { row, isOpen, onClose, onDone } = props
  const [token, setToken] = useState('')
  const [isPrivate, setPrivate] = useState(row.allow_private_addresses)
  const [isPlaintextAllowed, setPlaintext] = useState(row.allow_plaintext_credential)
  const [gateway] = row.gateways
  const save = useMutation(async () => {
    await call('POST /api/dashboard/connectors', {
      body: {
        type: row.type,
        token: token.trim(),
        domains: row.domains,
        auth_type: row.auth_type,
        ...(row.header === null ? {} : { header: row.header }),
        ...(row.base_url === null ? {} : { base_url: row.base_url }),
        allow_private_addresses: isPrivate,
        allow_plaintext_credential: isPlaintextAllowed,
        ...(row.endpoint === null ? {} : { endpoint: row.endpoint }),
        ...(row.bodies === null ? {} : { bodies: row.bodies }),
        ...(gateway === undefined ? {} : { gateway }),
      },
    })
    setToken('')
    onDone()
    onClose()
  })
  return (
    <FormDialog
      title={`New credential for ${row.name}`}
      isOpen={isOpen}
      onClose={onClose}
      label="Replace credential"
      isReady={token.trim() !== ''}
      mutation={save}
    >
      <PasswordInput
        label="Credential"
        description="Stored encrypted and sent only to the provider. It replaces the current credential, which is deleted."
        value={token}
        onChange={(event) => setToken(event.currentTarget.value)}
        autoComplete="off"
        visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the credential', tabIndex: 0 }}
        required
        data-autofocus
      />
      <PrivateAddresses isAllowed={isPrivate} onChange={setPrivate} />
      {isPlaintext(row.base_url ?? '') ? (
        <PlaintextCredential isAllowed={isPlaintextAllowed} onChange={setPlaintext} />
      ) : null}
    </FormDialog>
  )
}
