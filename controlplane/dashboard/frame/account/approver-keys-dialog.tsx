import { Button, Group, Modal, NumberInput, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ApproverKeyView } from '../../../../core/wire/users.ts'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import { SecretOnce } from '../../components/text/secret-once.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useNow } from '../../live/use-now.ts'
import { useResource } from '../../live/use-resource.ts'

/** Lifetime of an approver key in days. The API has the same limits. */
const DAYS = { default: 90, max: 365 } as const

/** Creates, lists and revokes the approver keys of the signed-in user. */
export function ApproverKeysDialog({ onClose }: { readonly onClose: () => void }) {
  const [secret, setSecret] = useState<string | null>(null)
  const keys = useResource('GET /api/auth/keys', {}, { on: ['audit'] })
  return (
    <Modal
      opened
      onClose={onClose}
      title="Your approver keys"
      size="xl"
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          A key can only answer approvals, in your name. All your keys are revoked when your password or role
          changes and when your account is suspended.
        </Text>
        <NewKey
          onCreated={(key) => {
            setSecret(key)
            keys.reload()
          }}
        />
        {secret === null ? null : (
          <SecretOnce
            title="Your new approver key, shown only once"
            about="Store the key now. It cannot be shown again."
            label="approver key"
            secret={secret}
          />
        )}
        <Loaded of={keys}>{({ keys: rows }) => <KeyList rows={rows} onRevoked={keys.reload} />}</Loaded>
      </Stack>
    </Modal>
  )
}

function NewKey({ onCreated }: { readonly onCreated: (key: string) => void }) {
  const [name, setName] = useState('')
  const [days, setDays] = useState<number | string>(DAYS.default)
  const make = useMutation(async () => {
    const named = name.trim() === '' ? {} : { name: name.trim() }
    const made = await call('POST /api/auth/keys', { body: { ...named, expires_in_days: Number(days) } })
    setName('')
    onCreated(made.api_key)
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        make.run()
      }}
    >
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Name (optional)"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={100}
          className="grow"
          data-autofocus
        />
        <NumberInput
          label="Valid for days"
          value={days}
          onChange={setDays}
          min={1}
          max={DAYS.max}
          allowDecimal={false}
          clampBehavior="strict"
          w={120}
        />
        <Button type="submit" loading={make.isBusy} disabled={days === ''}>
          Create key
        </Button>
      </Group>
      {make.error === null ? null : <ErrorNote error={make.error} />}
    </form>
  )
}

function KeyList(props: { readonly rows: readonly ApproverKeyView[]; readonly onRevoked: () => void }) {
  const { rows, onRevoked } = props
  const now = useNow(60_000)
  if (rows.length === 0) return <Text size="sm">You have no approver keys.</Text>
  return (
    <RowTable
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Key', cell: (row) => <KeyName row={row} /> },
        { head: 'Created', isWhole: true, cell: (row) => <TimeText at={row.created_at} /> },
        { head: 'Expires', isWhole: true, cell: (row) => <Expiry at={row.expires_at} now={now} /> },
        { head: 'Last used', isWhole: true, cell: (row) => <TimeText at={row.last_used_at} /> },
      ]}
      actions={(row) => (
        <ConfirmButton
          label="Revoke"
          ariaLabel={`Revoke ${row.name ?? row.prefix}`}
          title={`Revoke ${row.name ?? row.prefix}`}
          onConfirm={async () => {
            await call('DELETE /api/auth/keys', { query: { id: row.id } })
            onRevoked()
          }}
        >
          Clients that use this key can no longer answer approvals.
        </ConfirmButton>
      )}
    />
  )
}

function KeyName({ row }: { readonly row: ApproverKeyView }) {
  return (
    <>
      {row.name === null ? null : (
        <Text fw={600} component="div">
          <UntrustedText text={row.name} />
        </Text>
      )}
      <code>{row.prefix}…</code>
    </>
  )
}

function Expiry({ at, now }: { readonly at: string; readonly now: number }) {
  if (Date.parse(at) <= now) return <ToneBadge tone="bad">expired</ToneBadge>
  return <TimeText at={at} />
}
