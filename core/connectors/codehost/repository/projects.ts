/** Catalogue rows for project boards. */
export const PROJECTS = `
  GET    /orgs/{org}/projectsV2                                                  project.list              read  low organization_projects:read
  GET    /orgs/{org}/projectsV2/{project_number}                                 project.get               read  low organization_projects:read
  POST   /orgs/{org}/projectsV2/{project_number}/drafts                          project_item.create_draft write low    title,body organization_projects:write
  GET    /orgs/{org}/projectsV2/{project_number}/fields                          project_field.list        read  low organization_projects:read
  POST   /orgs/{org}/projectsV2/{project_number}/fields                          project_field.create      write medium name organization_projects:write
  GET    /orgs/{org}/projectsV2/{project_number}/fields/{field_id}               project_field.get         read  low organization_projects:read
  GET    /orgs/{org}/projectsV2/{project_number}/items                           project_item.list         read  low organization_projects:read
  POST   /orgs/{org}/projectsV2/{project_number}/items                           project_item.add          write low    type,id organization_projects:write
  GET    /orgs/{org}/projectsV2/{project_number}/items/{item_id}                 project_item.get          read  low organization_projects:read
  PATCH  /orgs/{org}/projectsV2/{project_number}/items/{item_id}                 project_item.update       write low organization_projects:write
  DELETE /orgs/{org}/projectsV2/{project_number}/items/{item_id}                 project_item.delete       write high organization_projects:write
  POST   /orgs/{org}/projectsV2/{project_number}/views                           project_view.create       write low    name organization_projects:write
  GET    /orgs/{org}/projectsV2/{project_number}/views/{view_number}/items       project_item.list         read  low organization_projects:read
  POST   /user/{user_number}/projectsV2/{project_number}/drafts                  project_item.create_draft write low    title,body @same
  GET    /users/{username}/projectsV2                                            project.list              read  low
  GET    /users/{username}/projectsV2/{project_number}                           project.get               read  low
  GET    /users/{username}/projectsV2/{project_number}/fields                    project_field.list        read  low
  POST   /users/{username}/projectsV2/{project_number}/fields                    project_field.create      write medium name @same
  GET    /users/{username}/projectsV2/{project_number}/fields/{field_id}         project_field.get         read  low
  GET    /users/{username}/projectsV2/{project_number}/items                     project_item.list         read  low
  POST   /users/{username}/projectsV2/{project_number}/items                     project_item.add          write low    type,id @same
  GET    /users/{username}/projectsV2/{project_number}/items/{item_id}           project_item.get          read  low
  PATCH  /users/{username}/projectsV2/{project_number}/items/{item_id}           project_item.update       write low    @same
  DELETE /users/{username}/projectsV2/{project_number}/items/{item_id}           project_item.delete       write high   @same
  POST   /users/{user_id}/projectsV2/{project_number}/views                      project_view.create       write low    name @same
  GET    /users/{username}/projectsV2/{project_number}/views/{view_number}/items project_item.list         read  low
`
