import { Button, Group, PasswordInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Panel } from '../../components/layout/panel.tsx'

type Values = Readonly<Record<string, string>>

const FIELDS = [
  {
    key: 'chat_bot_token',
    label: 'Bot token of the team chat (Slack)',
    about: 'Sends approval requests to the chat.',
    isSecret: true,
  },
  {
    key: 'chat_signing_secret',
    label: 'Signing secret of the team chat (Slack)',
    about: 'Verifies that an answer comes from the chat.',
    isSecret: true,
  },
  {
    key: 'chat_channel_id',
    label: 'Channel (Slack)',
    about: 'Channel id for approval requests, such as C0123456789.',
    isSecret: false,
  },
  {
    key: 'codehost_pat',
    label: 'Access token of the code host (GitHub)',
    about: 'Sent with the requests of GitHub connectors that have no credential of their own.',
    isSecret: true,
  },
  {
    key: 'gateway_url',
    label: 'Address of the gateway',
    about:
      'URL of the gateway that executes approved actions if no gateway of the agent is connected to the control plane.',
    isSecret: false,
  },
] as const

/** Edits the settings of the installation. The form masks secrets and sends only changed fields. */
export function SettingsForm({ values, onSaved }: { readonly values: Values; readonly onSaved: () => void }) {
  const [changed, setChanged] = useState<Values>({})
  const [saved, setSaved] = useState<readonly string[]>([])
  const count = Object.keys(changed).length
  const save = useMutation(async () => {
    await call('PUT /api/dashboard/settings', { body: { settings: changed } })
    setSaved(FIELDS.filter(({ key }) => key in changed).map(({ label }) => label))
    setChanged({})
    onSaved()
  })
  return (
    <Panel title="Connections">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (count > 0) save.run()
        }}
      >
        <Stack gap="md">
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            {FIELDS.map((field) => (
              <Field
                key={field.key}
                field={field}
                stored={values[field.key]}
                value={changed[field.key]}
                onChange={(value) => setChanged((before) => ({ ...before, [field.key]: value }))}
              />
            ))}
          </SimpleGrid>
          {save.error === null ? null : <ErrorNote error={save.error} />}
          <Group justify="space-between">
            <Text size="sm" c="dimmed" role="status">
              {stateText(count, saved)}
            </Text>
            <Group gap="sm">
              {count === 0 ? null : (
                <Button variant="default" onClick={() => setChanged({})}>
                  Discard
                </Button>
              )}
              <Button type="submit" disabled={count === 0} loading={save.isBusy}>
                Save
              </Button>
            </Group>
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}

/**
 * Returns the state of the form as text. `count`: number of unsaved changes. `saved`: labels of the settings that the
 * last save changed.
 */
function stateText(count: number, saved: readonly string[]): string {
  if (count > 0) return `${count} ${count === 1 ? 'change' : 'changes'} to save.`
  return saved.length === 0 ? 'No changes.' : `Saved: ${saved.join(', ')}.`
}

function Field(props: {
  readonly field: (typeof FIELDS)[number]
  readonly stored: string | undefined
  readonly value: string | undefined
  readonly onChange: (value: string) => void
}) {
  const { field, stored, value, onChange } = props
  const { label, about, isSecret } = field
  const isRemoved = stored !== undefined && value === ''
  if (!isSecret) {
    return (
      <TextInput
        label={label}
        description={about}
        value={value ?? stored ?? ''}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    )
  }
  return (
    <Group align="flex-end" gap="xs" wrap="nowrap">
      <PasswordInput
        className="grow"
        label={label}
        description={about}
        placeholder={isRemoved ? 'will be removed' : stored === undefined ? 'not set' : `${stored} (set)`}
        value={value ?? ''}
        onChange={(event) => onChange(event.currentTarget.value)}
        autoComplete="off"
        visibilityToggleButtonProps={{ 'aria-label': `Show or hide: ${label}`, tabIndex: 0 }}
      />
      {stored === undefined || isRemoved ? null : (
        <Button variant="default" onClick={() => onChange('')} aria-label={`Remove: ${label}`}>
          Remove
        </Button>
      )}
    </Group>
  )
}
