import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { User } from '../../api/admin-shapes.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import { SecretOnce } from '../../components/text/secret-once.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { ROLE_LABELS } from '../../labels/role-labels.ts'
import { useResource } from '../../live/use-resource.ts'
import { useSession } from '../../session/session.tsx'
import { InviteUser } from './invite-user.tsx'
import { UserRowActions } from './user-row-actions.tsx'

/** Shown once: a link to register with. */
export type Shown = { readonly title: string; readonly about: string; readonly secret: string }

/** Who may look, answer and change; and who belongs to which group of approvers. */
export function Page() {
  const { may, user } = useSession()
  const [isOpen, { open, close }] = useDisclosure(false)
  const [shown, setShown] = useState<Shown | null>(null)
  const people = useResource('GET /api/dashboard/users', {}, { on: ['audit'] })
  const mayAct = may('users/update')
  return (
    <>
      <PageHead
        title="Users"
        about="Roles say what somebody may do; groups say which approvals are theirs to answer."
      >
        {mayAct ? (
          <Button leftSection={<Icon name="plus" size={16} />} onClick={open}>
            InviteUser somebody
          </Button>
        ) : null}
      </PageHead>
      <Stack gap="md">
        {shown === null ? null : (
          <SecretOnce title={shown.title} about={shown.about} label="secret" secret={shown.secret} />
        )}
        <Loaded of={people}>
          {({ users }) => (
            <RowTable
              rows={users}
              keyOf={({ id }) => id}
              columns={[
                { head: 'Person', cell: (person) => <Name person={person} isSelf={person.id === user.id} /> },
                { head: 'Role', cell: (person) => <Role person={person} onDone={people.reload} /> },
                { head: 'Groups', cell: ({ groups }) => <Groups groups={groups} /> },
                {
                  head: 'Status',
                  isWhole: true,
                  cell: ({ status }) => (
                    <ToneBadge tone={status === 'active' ? 'good' : 'bad'}>{status}</ToneBadge>
                  ),
                },
              ]}
              actions={
                mayAct ? (person) => <UserRowActions person={person} onDone={people.reload} /> : undefined
              }
            />
          )}
        </Loaded>
        <Text size="sm" c="dimmed">
          {ROLE_LABELS.map(({ label, means }) => `${label}: ${means}`).join(' ')}
        </Text>
      </Stack>
      {mayAct ? <InviteUser isOpen={isOpen} onClose={close} onShown={setShown} /> : null}
    </>
  )
}

function Name({ person, isSelf }: { readonly person: User; readonly isSelf: boolean }) {
  return (
    <>
      <Text fw={600} component="div">
        <UntrustedText text={person.name} />
        {isSelf ? ' (you)' : ''}
      </Text>
      <Text size="sm" c="dimmed" component="div">
        <UntrustedText text={person.email} />
      </Text>
    </>
  )
}

function Role({ person, onDone }: { readonly person: User; readonly onDone: () => void }) {
  const { may } = useSession()
  const change = useMutation(async (role: string) => {
    await call('POST /api/dashboard/users', { body: { action: 'change_role', user_id: person.id, role } })
    onDone()
  })
  if (!may('users/update')) return person.role
  return (
    <Stack gap={4}>
      <Select
        aria-label={`Role of ${person.email}`}
        data={ROLE_LABELS.map(({ value, label }) => ({ value, label }))}
        value={person.role}
        onChange={(role) => (role === null ? undefined : change.run(role))}
        disabled={change.isBusy}
        allowDeselect={false}
        size="xs"
        w={130}
      />
      {change.error === null ? null : <ErrorNote error={change.error} />}
    </Stack>
  )
}

function Groups({ groups }: { readonly groups: readonly string[] }) {
  if (groups.length === 0) return <span className="dim">none</span>
  return (
    <Group gap={4}>
      {groups.map((group) => (
        <ToneBadge key={group} tone="info">
          {group}
        </ToneBadge>
      ))}
    </Group>
  )
}
