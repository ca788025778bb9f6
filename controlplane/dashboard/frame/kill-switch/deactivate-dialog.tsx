import { Button, Checkbox, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { scopeLabel } from './scope.ts'

/** Lets stopped agents work again: which scopes, and why. */
export function DeactivateDialog(props: {
  readonly entries: readonly KillEntry[]
  readonly onClose: () => void
}) {
  const { entries, onClose } = props
  return (
    <Modal
      opened
      onClose={onClose}
      title="Let agents work again"
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
  const lift = useMutation(async () => {
    for (const scope of chosen) {
      const why = reason.trim() === '' ? {} : { reason: reason.trim() }
      await call('POST /api/dashboard/kill-switch', { body: { active: false, scope, ...why } })
    }
    onDone()
  })
  return (
    <Stack gap="md">
      <Checkbox.Group label="What" value={chosen} onChange={setChosen}>
        <Stack gap="xs" mt={6}>
          {scopes.map((scope) => (
            <Checkbox key={scope} value={scope} label={scopeLabel(scope)} />
          ))}
        </Stack>
      </Checkbox.Group>
      <TextInput
        label="Why"
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        data-autofocus
      />
      <Text size="sm" c="dimmed">
        Rules and permissions apply as before; what was refused meanwhile is not sent again.
      </Text>
      {lift.error === null ? null : <ErrorNote error={lift.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onDone}>
          Leave it stopped
        </Button>
        <Button onClick={() => lift.run()} loading={lift.isBusy} disabled={chosen.length === 0}>
          Lift the stop
        </Button>
      </Group>
    </Stack>
  )
}
