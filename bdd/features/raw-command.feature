@raw-command
Feature: Raw commands
  As a developer who uses Apache Iggy
  I want to send a command by its code and read the raw response
  So that I can use commands that the client has no method for

  Background:
    Given a running server
    And a client that is signed in as root

  Scenario: Ping
    When I send the command 1 with an empty payload
    Then the command succeeds
    And its response is empty

  Scenario: Server statistics
    When I send the command 10 with an empty payload
    Then the command succeeds
    And its response is not empty

  Scenario: Unknown command
    When I send the command 60000 with an empty payload
    Then the command fails as an invalid command

  Scenario: Session commands belong to the client
    When I send the command 38 with an empty payload
    Then the command fails as an invalid command
