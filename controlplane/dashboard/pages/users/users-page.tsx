import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { Role } from '../../../../core/wire/access/rights.ts'
import type { UserView } from '../../../../core/wire/users.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import type { Column } from '../../components/layout/row-table.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import type { BulkAction } from '../../components/list/bulk-actions.tsx'
import { SearchableTable } from '../../components/list/searchable-table.tsx'
import { SecretOnce } from '../../components/text/secret-once.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { ROLE_LABELS } from '../../labels/role-labels.ts'
import { STATUS_LABELS } from '../../labels/status-labels.ts'
import { useResource } from '../../live/use-resource.ts'
import { useSession } from '../../session/session.tsx'
import { Invitations } from './invitations.tsx'
import { InviteUser } from './invite-user.tsx'
import { UserRowActions } from './user-row-actions.tsx'

/** A registration link, which the page shows only once. */
export type Shown = { readonly title: string; readonly about: string; readonly secret: string }

/** Lists users with their roles and approver groups. */
export function Page() {
  const { may, user } = useSession()
  const [isOpen, { open, close }] = useDisclosure(false)
  const [shown, setShown] = useState<Shown | null>(null)
  const list = useResource('GET /api/dashboard/users', {}, { on: ['audit'] })
  const mayAct = may('users/update')
  return (
    <>
      <PageHead title="Users" about="Roles grant rights. Groups determine which approvals a user can answer.">
        {mayAct ? (
          <Button leftSection={<Icon name="plus" size={16} />} onClick={open}>
            Invite user
          </Button>
        ) : null}
      </PageHead>
      <Stack gap="md">
        {shown === null ? null : (
          <SecretOnce title={shown.title} about={shown.about} label="secret" secret={shown.secret} />
        )}
        <Loaded of={list}>
          {({ users, invitations }) => (
            <>
              <SearchableTable
                rows={users}
                keyOf={({ id }) => id}
                nameOf={({ email }) => email}
                textsOf={({ name, email, role, status, groups }) => [name, email, role, status, ...groups]}
                noun="users"
                columns={columnsFor(user.id, list.reload)}
                actions={mayAct ? (row) => <UserRowActions user={row} onDone={list.reload} /> : undefined}
                bulk={mayAct ? bulkActionsFor(user.id) : []}
                onDone={list.reload}
              />
              <Invitations invitations={invitations} mayAct={mayAct} onDone={list.reload} />
            </>
          )}
        </Loaded>
        <Text size="sm" c="dimmed">
          {ROLE_LABELS.map(({ label, description }) => `${label}: ${description}`).join(' ')}
        </Text>
      </Stack>
      {mayAct ? <InviteUser isOpen={isOpen} onClose={close} onShown={setShown} /> : null}
    </>
  )
}

function columnsFor(ownId: string, onDone: () => void): ReadonlyArray<Column<UserView>> {
  return [
    { head: 'User', cell: (row) => <Name row={row} isSelf={row.id === ownId} /> },
    { head: 'Role', cell: (row) => <RoleSelect row={row} onDone={onDone} /> },
    { head: 'Groups', cell: ({ groups }) => <Groups groups={groups} /> },
    {
      head: 'Status',
      isWhole: true,
      cell: ({ status }) => (
        <ToneBadge tone={status === 'active' ? 'good' : 'bad'}>{STATUS_LABELS[status]}</ToneBadge>
      ),
    },
  ]
}

const act = (action: 'suspend' | 'activate') => async (user: UserView) =>
  call('POST /api/dashboard/users', { body: { action, user_id: user.id } })

/** Returns the operations on several users. Users cannot suspend themselves. */
function bulkActionsFor(ownId: string): ReadonlyArray<BulkAction<UserView>> {
  return [
    {
      label: 'Suspend',
      done: 'suspended',
      run: act('suspend'),
      about: 'All sessions of these users end immediately, and their approver keys stop working:',
      appliesTo: ({ id, status }) => id !== ownId && status === 'active',
    },
    {
      label: 'Activate',
      done: 'activated',
      run: act('activate'),
      about: 'These users can sign in again:',
      appliesTo: ({ status }) => status === 'suspended',
    },
  ]
}

function Name({ row, isSelf }: { readonly row: UserView; readonly isSelf: boolean }) {
  return (
    <>
      <Text fw={600} component="div">
        <UntrustedText text={row.name} />
        {isSelf ? ' (you)' : ''}
      </Text>
      <Text size="sm" c="dimmed" component="div">
        <UntrustedText text={row.email} />
      </Text>
    </>
  )
}

function RoleSelect({ row, onDone }: { readonly row: UserView; readonly onDone: () => void }) {
  const { may } = useSession()
  const change = useMutation(async (role: Role) => {
    await call('POST /api/dashboard/users', { body: { action: 'change_role', user_id: row.id, role } })
    onDone()
  })
  if (!may('users/update')) return row.role
  return (
    <Stack gap={4}>
      <Select
        aria-label={`Role of ${row.email}`}
        data={ROLE_LABELS.map(({ value, label }) => ({ value, label }))}
        value={row.role}
        onChange={(role) => (role === null ? undefined : change.run(role as Role))}
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
