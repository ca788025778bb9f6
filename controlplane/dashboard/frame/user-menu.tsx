import { ActionIcon, Menu, Text } from '@mantine/core'
import { ErrorNote } from '../parts/error-note.tsx'
import { Icon } from '../parts/icon.tsx'
import { useDeed } from '../parts/use-deed.ts'
import { useSession } from '../session/session.tsx'

/** Who is signed in, and the way out. Opens at once: it comes with the click that wants it. */
export function UserMenu() {
  const { user, signOut } = useSession()
  const leave = useDeed(signOut)
  return (
    <Menu position="bottom-end" width={260} closeOnItemClick={false} defaultOpened>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={`Signed in as ${user.email}`}>
          <Icon name="user" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <div className="menu-who">
          <Text size="sm" fw={600} className="ellipsis">
            {user.email}
          </Text>
          <Text size="xs" c="dimmed">
            {user.role}
            {user.groups.length === 0 ? '' : `, in ${user.groups.join(', ')}`}
          </Text>
        </div>
        <Menu.Divider />
        <Menu.Item onClick={() => leave.run()}>{leave.isBusy ? 'Signing out …' : 'Sign out'}</Menu.Item>
        {leave.error === null ? null : <ErrorNote title="Still signed in" error={leave.error} />}
      </Menu.Dropdown>
    </Menu>
  )
}
