import { Button, Group, Modal, PasswordInput, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type ReactNode, useState } from 'react'
import type { ConnectorView } from '../../../../core/wire/connectors.ts'
import { call } from '../../api/client.ts'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { CopyText } from '../../components/text/copy-text.tsx'
import { CONNECTOR_LABELS, TYPES_WITHOUT_HOSTS } from '../../labels/connector-types.ts'
import { useSession } from '../../session/session.tsx'

type Props = { readonly row: ConnectorView; readonly onDone: () => void }

/**
 * Sets and tests the credential of a connector. If the control plane does not store the credential, shows how to set
 * the credential where it is stored. `children`: further buttons of the row.
 */
export function CredentialActions({ row, onDone, children }: Props & { readonly children?: ReactNode }) {
  const { may } = useSession()
  const test = useCredentialTest(row)
  const maySet = may('credentials/set')
  const { source, remedy } = row.credential
  const isTestable = !TYPES_WITHOUT_HOSTS.includes(row.type) && row.has_token
  return (
    <Stack gap={4} align="flex-end">
      <Group gap="xs" justify="flex-end">
        {maySet && isTestable ? (
          <Button
            size="xs"
            variant="default"
            onClick={() => test.run()}
            loading={test.isBusy}
            aria-label={`Test credential of ${row.name}`}
          >
            Test
          </Button>
        ) : null}
        {maySet && source === 'vault' ? <SetCredential row={row} onDone={onDone} /> : null}
        {maySet && remedy !== null ? <Steps row={row} text={remedy} /> : null}
        {children}
      </Group>
      <Text size="sm" role="status" maw={260} className="untrusted">
        {test.text}
      </Text>
    </Stack>
  )
}

function SetCredential({ row, onDone }: Props) {
  const [isOpen, { open, close }] = useDisclosure(false)
  const [secret, setSecret] = useState('')
  const name = row.credential.name ?? row.name
  const save = useMutation(async () => {
    await call('PUT /api/dashboard/credentials', { body: { name, secret: secret.trim() } })
    setSecret('')
    onDone()
    close()
  })
  const label = row.has_token ? 'Replace credential' : 'Add credential'
  return (
    <>
      <Button
        size="xs"
        variant={row.has_token ? 'default' : 'filled'}
        onClick={open}
        aria-label={`${label} for ${row.name}`}
      >
        {label}
      </Button>
      <FormDialog
        title={`Credential for ${row.name}`}
        isOpen={isOpen}
        onClose={close}
        label="Save credential"
        isReady={secret.trim() !== ''}
        mutation={save}
      >
        <PasswordInput
          label={CONNECTOR_LABELS[row.type]?.credential ?? 'Credential'}
          description="Stored encrypted and sent only to the provider. Agents never receive it."
          value={secret}
          onChange={(event) => setSecret(event.currentTarget.value)}
          autoComplete="off"
          visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the credential', tabIndex: 0 }}
          required
          data-autofocus
        />
        <Text size="sm" c="dimmed">
          In a terminal: chaperone credential set {name}
        </Text>
      </FormDialog>
    </>
  )
}

function Steps({ row, text }: { readonly row: ConnectorView; readonly text: string }) {
  const [isOpen, { open, close }] = useDisclosure(false)
  const isCluster = row.source === 'kubernetes'
  return (
    <>
      <Button size="xs" variant="default" onClick={open} aria-label={`Set credential of ${row.name}`}>
        Set credential
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={`Credential of ${row.name}`}
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <Stack gap="sm">
          <Text size="sm">
            {isCluster
              ? 'In a cluster a Secret is the only source of the credential. The command reads the value from the terminal; end it with Ctrl-D.'
              : 'The manifest of this connector states where its credential is kept. To change the credential, follow these steps:'}
          </Text>
          <CopyText label="steps" text={text} />
        </Stack>
      </Modal>
    </>
  )
}

/**
 * Tests the credential with a read request through the gateway. `text` is the result, such as the account that the
 * provider names, or the error; null before the first test.
 */
function useCredentialTest(row: ConnectorView) {
  const [detail, setDetail] = useState<string | null>(null)
  const test = useMutation(async () => {
    setDetail(null)
    const reply = await call('POST /api/dashboard/credentials/test', { body: { connector_id: row.id } })
    setDetail(reply.detail)
  })
  return { run: test.run, isBusy: test.isBusy, text: test.error?.message ?? detail }
}
