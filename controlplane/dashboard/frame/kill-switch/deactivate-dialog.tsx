import { Button, Checkbox, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { scopeLabel } from './scope.ts'

/** Renders the dialog that lifts the kill switches of the selected scopes. */
export function DeactivateDialog(props: {
  readonly entries: readonly KillEntry[]
  readonly onClose: () => void
}) {
  const { entries, onClose } = props
  return (
    <Modal
      opened
      onClose={onClose}
      title="Deactivate the kill switch"
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <DeactivateForm entries={entries} onDone={onClose} />
    </Modal>
  )
}

function DeactivateForm({
  entries,
  onDone,
}: {
  readonly entries: readonly KillEntry[]
  readonly onDone: () => void
}) {
  const scopes = [...new Set(entries.map(({ scope }) => scope))]
  const [chosen, setChosen] = useState<string[]>(scopes)
  const [reason, setReason] = useState('')
  const deactivate = useMutation(async () => {
    for (const scope of chosen) {
      const why = reason.trim() === '' ? {} : { reason: reason.trim() }
      await call('POST /api/dashboard/kill-switch', { body: { active: false, scope, ...why } })
    }
    onDone()
  })
  return (
    <Stack gap="md">
      <Checkbox.Group label="Scopes" value={chosen} onChange={setChosen}>
        <Stack gap="xs" mt={6}>
          {scopes.map((scope) => (
            <Checkbox key={scope} value={scope} label={scopeLabel(scope)} />
          ))}
        </Stack>
      </Checkbox.Group>
      <TextInput
        label="Reason"
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        data-autofocus
      />
      <Text size="sm" c="dimmed">
        Permissions and policies decide again. Requests that the kill switch refused are not sent later; their
        agents must repeat them.
      </Text>
      {deactivate.error === null ? null : <ErrorNote error={deactivate.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onDone}>
          Keep it active
        </Button>
        <Button onClick={() => deactivate.run()} loading={deactivate.isBusy} disabled={chosen.length === 0}>
          Deactivate
        </Button>
      </Group>
    </Stack>
  )
}
