@stream-crud
Feature: Stream CRUD
  As a developer who uses Apache Iggy
  I want to create, read, rename and delete streams
  So that I can organise topics

  Background:
    Given a running server
    And a client that is signed in as root

  Scenario: Create a stream
    When I create the stream "stream-crud-create"
    Then the stream is named "stream-crud-create"
    And I can get the stream by its id as "stream-crud-create"

  Scenario: Get a stream
    Given the stream "stream-crud-get"
    Then I can get the stream by its id as "stream-crud-get"

  Scenario: List streams
    Given the stream "stream-crud-list"
    When I list the streams
    Then the list contains the stream "stream-crud-list"

  Scenario: Rename a stream
    Given the stream "stream-crud-update"
    When I rename the stream to "stream-crud-updated"
    Then I can get the stream by its id as "stream-crud-updated"

  Scenario: Delete a stream
    Given the stream "stream-crud-delete"
    When I delete the stream by its id
    Then I cannot find the stream by its id
