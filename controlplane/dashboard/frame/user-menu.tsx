import { ActionIcon, Menu, Text } from '@mantine/core'
import { Icon } from '../parts/icon.tsx'
import { useSession } from '../session/session.tsx'

export function UserMenu() {
  const { user, signOut } = useSession()
  return (
    <Menu position="bottom-end" width={260} defaultOpened>
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
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
